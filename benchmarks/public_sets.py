"""More real tables for studies: those of PMLB, and of R packages, by hundreds of authors.

PMLB's are ``pmlb/NAME.tsv.gz`` under ``--data``, as its repository has them. Those of R packages are written to
``rdatasets/`` by ``python -m benchmarks.r_tables FOLDER``.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.real_sets import SETS, RealSet
from benchmarks.task import Kind


def pmlb(kind: Kind, name: str, **columns: tuple[str, ...]) -> RealSet:
    """Return a table of PMLB."""
    return RealSet(kind, f"pmlb/{name}.tsv.gz", "target", **columns)


def from_r(kind: Kind, name: str, target: str, **columns: tuple[str, ...]) -> RealSet:
    """Return a table of an R package."""
    return RealSet(kind, f"rdatasets/{name}.csv.gz", target, **columns)


PUBLIC_SETS: dict[str, RealSet] = {
    **SETS,
    "letter": pmlb("multiclass", "letter"),
    "connect_4": pmlb("multiclass", "connect_4"),
    "coil2000": pmlb("binary", "coil2000"),
    "churn": pmlb("binary", "churn"),
    "spambase": pmlb("binary", "spambase"),
    "texture": pmlb("multiclass", "texture"),
    "magic": pmlb("binary", "magic"),
    "mfeat_fourier": pmlb("multiclass", "mfeat_fourier"),
    "mfeat_zernike": pmlb("multiclass", "mfeat_zernike"),
    "mfeat_morphological": pmlb("multiclass", "mfeat_morphological"),
    "hill_valley": pmlb("binary", "Hill_Valley_without_noise"),
    "waveform_21": pmlb("multiclass", "waveform_21"),
    "segmentation": pmlb("multiclass", "segmentation"),
    "page_blocks": pmlb("multiclass", "page_blocks"),
    "ann_thyroid": pmlb("multiclass", "ann_thyroid"),
    "wine_white_classes": pmlb("multiclass", "wine_quality_white"),
    "splice": pmlb("multiclass", "splice"),
    "krkopt": pmlb("multiclass", "krkopt"),
    "banana": pmlb("binary", "banana"),
    "nursery": pmlb("multiclass", "nursery"),
    "led24": pmlb("multiclass", "led24"),
    "led7": pmlb("multiclass", "led7"),
    "chess": pmlb("binary", "chess"),
    "yeast": pmlb("multiclass", "yeast"),
    "titanic_people": pmlb("binary", "titanic"),
    "allrep": pmlb("multiclass", "allrep"),
    "dis": pmlb("binary", "dis"),
    "cmc": pmlb("multiclass", "cmc"),
    "sleep": pmlb("multiclass", "sleep"),
    "mofn": pmlb("binary", "mofn_3_7_10"),
    "parity": pmlb("binary", "parity5+5"),
    "car": pmlb("multiclass", "car"),
    "mushroom": pmlb("binary", "mushroom"),
    "pendigits": pmlb("multiclass", "pendigits"),
    "ring": pmlb("binary", "ring"),
    "twonorm": pmlb("binary", "twonorm"),
    "gametes": pmlb("binary", "GAMETES_Epistasis_2_Way_20atts_0.4H_EDM_1_1"),
    "clean2": pmlb("binary", "clean2"),
    "tic_tac_toe": pmlb("binary", "tic_tac_toe"),
    "vowel": pmlb("multiclass", "vowel"),
    "vehicle": pmlb("multiclass", "vehicle"),
    "soybean": pmlb("multiclass", "soybean"),
    "diabetes": pmlb("binary", "diabetes"),
    "house_16H": pmlb("regression", "574_house_16H"),
    "mv": pmlb("regression", "344_mv"),
    "pwLinear": pmlb("regression", "1203_BNG_pwLinear"),
    "breastTumor": pmlb("regression", "1201_BNG_breastTumor"),
    "lowbwt": pmlb("regression", "1193_BNG_lowbwt"),
    "echoMonths": pmlb("regression", "1199_BNG_echoMonths"),
    "fri_c4_100": pmlb("regression", "588_fri_c4_1000_100"),
    "fri_c0_10": pmlb("regression", "595_fri_c0_1000_10"),
    "music_origin": pmlb("regression", "4544_GeographicalOriginalofMusic"),
    "pol": pmlb("regression", "201_pol"),
    "wind": pmlb("regression", "503_wind"),
    "pollen": pmlb("regression", "529_pollen"),
    "planes": pmlb("regression", "215_2dplanes"),
    "fried": pmlb("regression", "564_fried"),
    "SWD": pmlb("regression", "1028_SWD"),
    "ladata": pmlb("regression", "666_rmftsa_ladata"),
    "no2": pmlb("regression", "547_no2"),
    "diamonds": from_r("regression", "ggplot2-diamonds", "price"),
    "mlc_churn": from_r("binary", "modeldata-mlc_churn", "churn"),
    "wa_churn": from_r("binary", "modeldata-wa_churn", "churn"),
    "attrition": from_r("binary", "modeldata-attrition", "Attrition"),
    "credit_data": from_r("binary", "modeldata-credit_data", "Status"),
    "lending_club": from_r("binary", "modeldata-lending_club", "Class"),
    "hotel_rates": from_r("regression", "modeldata-hotel_rates", "avg_price_per_room"),
    "deliveries": from_r("regression", "modeldata-deliveries", "time_to_delivery"),
    "cells": from_r("binary", "modeldata-cells", "class", drop=("case",)),
    "hpc_data": from_r("multiclass", "modeldata-hpc_data", "class"),
    "concrete": from_r("regression", "modeldata-concrete", "compressive_strength"),
    "remote_work": from_r("binary", "modeldata-stackoverflow", "Remote"),
    "taxi": from_r("binary", "modeldata-taxi", "tip"),
    "leaf_species": from_r("multiclass", "modeldata-leaf_id_flavia", "species"),
    "wage": from_r("regression", "ISLR-Wage", "wage", drop=("logwage",)),
    "caravan": from_r("binary", "ISLR-Caravan", "Purchase"),
    "default": from_r("binary", "ISLR-Default", "default"),
    "orange_juice": from_r("binary", "ISLR-OJ", "Purchase"),
    "cps1988": from_r("regression", "AER-CPS1988", "wage"),
    "hmda": from_r("binary", "AER-HMDA", "deny"),
    "nmes_visits": from_r("regression", "AER-NMES1988", "visits", drop=("nvisits", "ovisits", "novisits")),
    "resume_calls": from_r("binary", "AER-ResumeNames", "call"),
    "loan_rate": from_r(
        "regression",
        "openintro-loans_full_schema",
        "interest_rate",
        drop=("grade", "sub_grade", "emp_title", "installment"),
    ),
    "storms": from_r("multiclass", "dplyr-storms", "status", drop=("name", "category")),
    "movies": from_r(
        "regression",
        "ggplot2movies-movies",
        "rating",
        drop=("title", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"),
    ),
    "evaluation": from_r("regression", "lme4-InstEval", "y", codes=("s", "d", "dept")),
    "k401k": from_r("binary", "wooldridge-k401ksubs", "e401k", drop=("p401k", "incsq", "agesq")),
    "car_crash": from_r("binary", "DAAG-nassCDS", "dead", drop=("caseid", "injSeverity", "weight")),
    "med_exp": from_r("regression", "Ecdat-MedExp", "med"),
    "computers": from_r("regression", "Ecdat-Computers", "price"),
    "budget_food": from_r("regression", "Ecdat-BudgetFood", "wfood"),
    "males_wage": from_r("regression", "Ecdat-Males", "wage", drop=("nr",)),
    "nox": from_r("regression", "robustbase-NOxEmissions", "LNOx"),
    "bfi_gender": from_r("binary", "psych-bfi", "gender"),
    "demand": from_r("regression", "fpp2-elecdemand", "Demand"),
    "college": from_r("regression", "ISLR-College", "Grad.Rate"),
    "carseats": from_r("regression", "ISLR-Carseats", "Sales"),
    "boston": from_r("regression", "MASS-Boston", "medv"),
    "sacramento": from_r("regression", "modeldata-Sacramento", "price", codes=("zip",)),
    "car_prices": from_r("regression", "modeldata-car_prices", "Price"),
}


def chosen_sets(names: Sequence[str]) -> dict[str, RealSet]:
    """Return the sets of these names; "all" are all."""
    if list(names) == ["all"]:
        return dict(PUBLIC_SETS)
    unknown = [name for name in names if name not in PUBLIC_SETS]
    if unknown:
        raise ValueError(f"no set is called {unknown[0]!r}; there are: {', '.join(PUBLIC_SETS)}")
    return {name: PUBLIC_SETS[name] for name in names}
