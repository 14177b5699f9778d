"""What names from other libraries are called here: one table for errors and for docs/coming-from.md.

There are no aliases. A name of another library raises an error that says what to write instead; the page
docs/coming-from.md is the same table: ``python -m arboretum.other_libraries > docs/coming-from.md``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["ARGUMENTS", "ATTRIBUTES", "CLASSES", "LIBRARIES", "PARAMETERS", "VALUES", "Elsewhere", "advice"]

LIBRARIES = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "sklearn": "scikit-learn",
    "ydf": "YDF",
}


@dataclass(frozen=True)
class Elsewhere:
    """One thing, by its name here and by its names, separated by blanks, in other libraries.

    ``ours`` is a parameter, argument, value, attribute or class of this library; if it is empty, ``remark`` says what
    to do instead. ``owner`` is the parameter that a value belongs to.
    """

    ours: str
    remark: str = ""
    lightgbm: str = ""
    xgboost: str = ""
    catboost: str = ""
    sklearn: str = ""
    ydf: str = ""
    owner: str = ""

    def libraries(self, name: str) -> list[str]:
        """Return the libraries that use the name for this."""
        return [title for library, title in LIBRARIES.items() if name in getattr(self, library).split()]


# Constructor parameters. LightGBM's names include the aliases of its configuration files.
PARAMETERS = (
    Elsewhere(
        "n_estimators",
        lightgbm="num_iterations num_iteration num_boost_round num_trees num_tree num_round num_rounds nrounds n_iter "
        "max_iter",
        xgboost="num_boost_round num_round",
        catboost="iterations num_boost_round num_trees",
        sklearn="max_iter",
        ydf="num_trees",
    ),
    Elsewhere("learning_rate", lightgbm="eta shrinkage_rate", xgboost="eta", catboost="eta", ydf="shrinkage"),
    Elsewhere(
        "max_leaf_nodes",
        lightgbm="num_leaves num_leaf max_leaves max_leaf",
        xgboost="max_leaves",
        catboost="max_leaves num_leaves",
    ),
    Elsewhere("max_leaf_nodes", "leaves, not nodes: half as many", ydf="max_num_nodes"),
    Elsewhere("max_depth", catboost="depth"),
    Elsewhere(
        "min_samples_leaf",
        "rows, counted exactly",
        lightgbm="min_data_in_leaf min_child_samples min_data min_data_per_leaf",
        catboost="min_data_in_leaf min_child_samples",
        ydf="min_examples",
    ),
    Elsewhere(
        "min_child_weight",
        "sum of hessians",
        lightgbm="min_sum_hessian_in_leaf min_sum_hessian min_hessian min_sum_hessian_per_leaf",
    ),
    Elsewhere("min_gain", lightgbm="min_split_gain min_gain_to_split", sklearn="min_impurity_decrease"),
    Elsewhere("min_gain", "with prune=True, as XGBoost does", xgboost="gamma min_split_loss"),
    Elsewhere(
        "l2",
        lightgbm="reg_lambda lambda_l2 lambda",
        xgboost="reg_lambda lambda",
        catboost="l2_leaf_reg reg_lambda",
        sklearn="l2_regularization",
        ydf="l2_regularization",
    ),
    Elsewhere("l1", lightgbm="reg_alpha lambda_l1", xgboost="reg_alpha alpha", ydf="l1_regularization"),
    Elsewhere("max_delta_step", lightgbm="max_leaf_output max_tree_output"),
    Elsewhere("quantile", lightgbm="alpha", xgboost="quantile_alpha", sklearn="alpha"),
    Elsewhere("power", lightgbm="tweedie_variance_power", xgboost="tweedie_variance_power"),
    Elsewhere(
        "growth",
        '"leaf", "level" or "symmetric"',
        xgboost="grow_policy",
        catboost="grow_policy",
        ydf="growing_strategy",
    ),
    Elsewhere(
        "max_bins",
        lightgbm="max_bin",
        xgboost="max_bin",
        catboost="border_count max_bin",
        ydf="num_discretized_numerical_bins",
    ),
    Elsewhere("", "bins are made from all rows", lightgbm="subsample_for_bin bin_construct_sample_cnt"),
    Elsewhere("", "all columns are drawn alike", xgboost="feature_weights", catboost="feature_weights"),
    Elsewhere("", "unknown parameters are always refused", xgboost="validate_parameters"),
    Elsewhere("", "NaN is missing: replace other marks before fit", xgboost="missing"),
    Elsewhere("max_bins", "max_bins=None tries every distinct value", xgboost="tree_method", ydf="sorting_strategy"),
    Elsewhere(
        "subsample",
        "drawn for every tree: there is no frequency to set",
        lightgbm="bagging_fraction bagging sub_row bagging_freq subsample_freq",
    ),
    Elsewhere(
        "sampling",
        '"subsample", "bootstrap", "stratified", "goss", "mvs" or "bayesian"',
        lightgbm="data_sample_strategy",
        xgboost="sampling_method",
        catboost="bootstrap_type",
        ydf="sampling_method",
    ),
    Elsewhere("top_rate", 'with sampling="goss"', ydf="goss_alpha"),
    Elsewhere("other_rate", 'with sampling="goss"', ydf="goss_beta"),
    Elsewhere(
        "colsample_tree",
        lightgbm="feature_fraction colsample_bytree sub_feature",
        xgboost="colsample_bytree",
    ),
    Elsewhere("colsample_level", xgboost="colsample_bylevel"),
    Elsewhere(
        "max_features",
        "columns that each node may split on",
        lightgbm="feature_fraction_bynode colsample_bynode sub_feature_bynode",
        xgboost="colsample_bynode",
        catboost="rsm colsample_bylevel",
        ydf="num_candidate_attributes num_candidate_attributes_ratio",
    ),
    Elsewhere("max_samples", ydf="bootstrap_size_ratio"),
    Elsewhere("bootstrap", ydf="bootstrap_training_dataset sampling_with_replacement"),
    Elsewhere("oob_score", ydf="compute_oob_performances"),
    Elsewhere("trees_per_round", xgboost="num_parallel_tree"),
    Elsewhere("score_noise", catboost="random_strength"),
    Elsewhere("leaf_steps", catboost="leaf_estimation_iterations"),
    Elsewhere("second_order", ydf="use_hessian_gain"),
    Elsewhere("split_score", '"gain" or "cosine"', catboost="score_function"),
    Elsewhere("dart_rate", lightgbm="drop_rate", xgboost="rate_drop", ydf="dart_dropout"),
    Elsewhere("dart_skip", lightgbm="skip_drop", xgboost="skip_drop"),
    Elsewhere("dart_max", lightgbm="max_drop"),
    Elsewhere("", "use dart_rate=0.1 for DART", ydf="forest_extraction"),
    Elsewhere(
        "",
        'use dart_rate=0.1 for DART, sampling="goss" for GOSS, RandomForestClassifier or RandomForestRegressor '
        "for forests",
        lightgbm="boosting_type boosting boost",
        xgboost="booster",
    ),
    Elsewhere("", "use ordered_boosting=4 for ordered boosting; the default is plain", catboost="boosting_type"),
    Elsewhere("leaf_model", 'leaf_model="linear"', lightgbm="linear_tree linear_trees"),
    Elsewhere("linear_l2", lightgbm="linear_lambda"),
    Elsewhere("vector_leaves", "vector_leaves=True", xgboost="multi_strategy"),
    Elsewhere(
        "",
        "use ExtraTreesClassifier or ExtraTreesRegressor for random thresholds",
        lightgbm="extra_trees extra_tree",
        sklearn="splitter",
    ),
    Elsewhere(
        "categorical_features",
        "text and categories are found without it",
        lightgbm="categorical_feature cat_feature categorical_column cat_column",
        xgboost="enable_categorical feature_types",
        catboost="cat_features",
    ),
    Elsewhere(
        "category_levels",
        "columns of more levels are read as statistics of the target",
        xgboost="max_cat_to_onehot",
        lightgbm="max_cat_to_onehot",
        catboost="one_hot_max_size",
    ),
    Elsewhere("category_combinations", catboost="max_ctr_complexity"),
    Elsewhere(
        "",
        "every category that a node has seen may go left: there is no limit to set",
        lightgbm="max_cat_threshold cat_smooth cat_l2 min_data_per_group",
        xgboost="max_cat_threshold",
        ydf="max_vocab_count min_vocab_frequency categorical_algorithm",
    ),
    Elsewhere(
        "",
        "missing values need no option: each split learns their branch",
        lightgbm="use_missing zero_as_missing",
        catboost="nan_mode",
        ydf="missing_value_policy allow_na_conditions",
    ),
    Elsewhere(
        "monotonic_cst",
        lightgbm="monotone_constraints monotone_constraint mc",
        xgboost="monotone_constraints",
        catboost="monotone_constraints",
    ),
    Elsewhere("interaction_cst", lightgbm="interaction_constraints", xgboost="interaction_constraints"),
    Elsewhere(
        "loss",
        lightgbm="objective objective_type app application",
        xgboost="objective",
        catboost="loss_function objective custom_loss",
    ),
    Elsewhere("criterion", catboost="loss_function", ydf="uplift_split_score"),
    Elsewhere(
        "scoring",
        "the metric of early stopping",
        lightgbm="metric metrics metric_types eval_metric",
        xgboost="eval_metric",
        catboost="eval_metric custom_metric",
    ),
    Elsewhere("tol", lightgbm="early_stopping_min_delta min_delta"),
    Elsewhere("truncation", lightgbm="lambdarank_truncation_level", ydf="ndcg_truncation"),
    Elsewhere(
        "class_weight",
        'a dict or "balanced"',
        lightgbm="is_unbalance unbalance unbalanced_sets scale_pos_weight",
        xgboost="scale_pos_weight",
        catboost="class_weights auto_class_weights scale_pos_weight",
        ydf="class_weights",
    ),
    Elsewhere(
        "n_iter_no_change",
        "with early_stopping=True, or X_val and y_val given to fit",
        lightgbm="early_stopping_round early_stopping_rounds",
        xgboost="early_stopping_rounds",
        catboost="early_stopping_rounds od_wait od_type od_pval",
        ydf="early_stopping_num_trees_look_ahead",
    ),
    Elsewhere("validation_fraction", catboost="eval_fraction", ydf="validation_ratio"),
    Elsewhere("early_stopping", "the best round is kept whenever it is on", catboost="use_best_model"),
    Elsewhere(
        "",
        "the model starts from the best constant; give fit(..., offset=...) to start elsewhere",
        lightgbm="boost_from_average init_score",
        xgboost="base_score base_margin",
        catboost="boost_from_average baseline",
        sklearn="init",
    ),
    Elsewhere(
        "",
        "give fit(..., X_val=..., y_val=...)",
        lightgbm="eval_set valid_sets",
        xgboost="eval_set evals",
        catboost="eval_set",
    ),
    Elsewhere(
        "random_state",
        lightgbm="seed random_seed bagging_seed feature_fraction_seed data_random_seed",
        xgboost="seed",
        catboost="random_seed",
        ydf="random_seed",
    ),
    Elsewhere(
        "n_jobs",
        lightgbm="num_threads num_thread nthread nthreads",
        xgboost="nthread",
        catboost="thread_count",
        ydf="num_threads",
    ),
    Elsewhere(
        "verbose",
        "0 is silent, the default",
        lightgbm="verbosity",
        xgboost="verbosity silent",
        catboost="silent logging_level metric_period verbose_eval",
    ),
    Elsewhere("", "a fit of this model is short: it shows no progress", sklearn="verbose"),
    Elsewhere("time_limit", "seconds", ydf="maximum_training_duration_seconds"),
    Elsewhere("callbacks", catboost="callback"),
    Elsewhere(
        "",
        "models are trained on processors, and give the same bits on all of them",
        lightgbm="device device_type deterministic force_row_wise force_col_wise gpu_device_id gpu_use_dp num_gpu",
        xgboost="device gpu_id predictor",
        catboost="task_type devices gpu_ram_part",
    ),
    Elsewhere("", "sparse columns share storage without it", lightgbm="enable_bundle is_enable_bundle bundle"),
    Elsewhere(
        "",
        "give fit(checkpoint=...) instead: docs/checkpoints.md",
        catboost="save_snapshot snapshot_file snapshot_interval train_dir allow_writing_files",
        ydf="resume_training working_dir",
        lightgbm="snapshot_freq save_period",
    ),
    Elsewhere(
        "",
        "ask model.importances(): every kind, side by side",
        lightgbm="importance_type",
        xgboost="importance_type",
        ydf="compute_oob_variable_importances compute_permutation_variable_importance",
    ),
    Elsewhere("voting", '"hard" counts the votes of trees', ydf="winner_take_all"),
    Elsewhere("estimator", sklearn="base_estimator"),
    Elsewhere(
        "",
        "min_samples_leaf, max_leaf_nodes and min_gain keep boosted trees small",
        sklearn="ccp_alpha min_samples_split min_weight_fraction_leaf",
    ),
    Elsewhere("", "boosted trees split by gain, the only criterion", sklearn="criterion"),
    Elsewhere("oblique", "oblique=True", ydf="split_axis"),
    Elsewhere("projection_density", ydf="sparse_oblique_projection_density_factor"),
    Elsewhere("n_projections", ydf="sparse_oblique_num_projections_exponent sparse_oblique_max_num_projections"),
    Elsewhere("", "give fit(X, y): features and target apart, or a Dataset and target=", ydf="label features task"),
    Elsewhere("", "give fit(..., sample_weight=...)", ydf="weights"),
    Elsewhere("", "give fit(..., group=...)", ydf="ranking_group"),
    Elsewhere("", "give fit(..., treatment=...)", ydf="uplift_treatment"),
    Elsewhere("min_samples_treatment", ydf="uplift_min_examples_in_treatment"),
)

# Arguments of fit, predict and their relatives.
ARGUMENTS = (
    Elsewhere(
        "X_val",
        "and y_val",
        lightgbm="eval_set eval_X valid_sets",
        xgboost="eval_set evals",
        catboost="eval_set",
        ydf="valid",
    ),
    Elsewhere("y_val", lightgbm="eval_y"),
    Elsewhere("sample_weight_val", lightgbm="eval_sample_weight", xgboost="sample_weight_eval_set"),
    Elsewhere("sample_weight", lightgbm="weight", xgboost="weight", ydf="weights"),
    Elsewhere("group", "an id per row, not sizes", xgboost="qid", catboost="group_id", ydf="ranking_group"),
    Elsewhere("group_val", "an id per row, not sizes", lightgbm="eval_group", xgboost="eval_group eval_qid"),
    Elsewhere("offset", lightgbm="init_score", xgboost="base_margin", catboost="baseline"),
    Elsewhere("offset_val", lightgbm="eval_init_score", xgboost="base_margin_eval_set"),
    Elsewhere(
        "",
        "give n_iter_no_change, and early_stopping=True, to the constructor",
        lightgbm="early_stopping_rounds",
        xgboost="early_stopping_rounds",
        catboost="early_stopping_rounds use_best_model",
    ),
    Elsewhere(
        "",
        "give scoring to the constructor",
        lightgbm="eval_metric feval",
        xgboost="eval_metric custom_metric",
    ),
    Elsewhere(
        "",
        "give categorical_features to the constructor; text and categories are found without it",
        lightgbm="categorical_feature",
        catboost="cat_features",
    ),
    Elsewhere("", "give callbacks to the constructor", lightgbm="callbacks", xgboost="callbacks", catboost="callbacks"),
    Elsewhere(
        "",
        "give verbose to the constructor",
        xgboost="verbose",
        catboost="verbose silent logging_level verbose_eval metric_period",
        lightgbm="verbose",
    ),
    Elsewhere(
        "",
        "call model.fit_more(X, y, n_estimators=...), or set warm_start=True",
        lightgbm="init_model",
        xgboost="xgb_model",
        catboost="init_model",
    ),
    Elsewhere("", "name the columns of X: a data frame", lightgbm="feature_name eval_names"),
    Elsewhere(
        "",
        "give fit(checkpoint=...)",
        catboost="save_snapshot snapshot_file snapshot_interval",
    ),
    Elsewhere("", "plot model.history_ or call model.report(...)", catboost="plot plot_file"),
    Elsewhere(
        "",
        "call model.first_rounds(k).predict(X)",
        lightgbm="num_iteration",
        xgboost="iteration_range ntree_limit",
        catboost="ntree_end",
    ),
    Elsewhere(
        "",
        "call model.decision_function(X) of a classifier",
        lightgbm="raw_score",
        xgboost="output_margin",
        catboost="prediction_type",
    ),
    Elsewhere("", "call model.explain(X)", lightgbm="pred_contrib", xgboost="pred_contribs pred_interactions"),
    Elsewhere("", "call model.apply(X)", lightgbm="pred_leaf", xgboost="pred_leaf"),
    Elsewhere("", "give n_jobs to the constructor", catboost="thread_count", lightgbm="num_threads"),
)

# Values of parameters.
VALUES = (
    Elsewhere(
        "squared_error",
        owner="loss",
        lightgbm="regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse",
        xgboost="reg:squarederror reg:linear",
        catboost="RMSE",
        sklearn="ls",
        ydf="SQUARED_ERROR",
    ),
    Elsewhere(
        "absolute_error",
        owner="loss",
        lightgbm="regression_l1 l1 mean_absolute_error mae",
        xgboost="reg:absoluteerror",
        catboost="MAE",
        sklearn="lad",
        ydf="MEAN_AVERAGE_ERROR",
    ),
    Elsewhere(
        "huber",
        owner="loss",
        xgboost="reg:pseudohubererror",
        catboost="Huber",
    ),
    Elsewhere("quantile", "with quantile=...", owner="loss", xgboost="reg:quantileerror", catboost="Quantile"),
    Elsewhere("quantile", "with quantile=[...]", owner="loss", catboost="MultiQuantile"),
    Elsewhere("poisson", owner="loss", xgboost="count:poisson", catboost="Poisson", ydf="POISSON"),
    Elsewhere("gamma", owner="loss", xgboost="reg:gamma"),
    Elsewhere("tweedie", "with power=...", owner="loss", xgboost="reg:tweedie", catboost="Tweedie"),
    Elsewhere(
        "log_loss",
        owner="loss",
        lightgbm="binary cross_entropy multiclass softmax",
        xgboost="binary:logistic binary:logitraw reg:logistic multi:softmax multi:softprob",
        catboost="Logloss CrossEntropy MultiClass",
        sklearn="deviance",
        ydf="BINOMIAL_LOG_LIKELIHOOD MULTINOMIAL_LOG_LIKELIHOOD",
    ),
    Elsewhere(
        "lambdamart",
        owner="loss",
        lightgbm="lambdarank",
        xgboost="rank:ndcg rank:map",
        catboost="LambdaMart YetiRank",
        ydf="LAMBDA_MART_NDCG",
    ),
    Elsewhere("pairwise", owner="loss", xgboost="rank:pairwise", catboost="PairLogit PairLogitPairwise"),
    Elsewhere(
        "listwise",
        owner="loss",
        lightgbm="rank_xendcg xendcg",
        catboost="QuerySoftMax",
        ydf="XE_NDCG_MART",
    ),
    Elsewhere("cox", owner="loss", xgboost="survival:cox", catboost="Cox", ydf="COX_PROPORTIONAL_HAZARD"),
    Elsewhere("aft", owner="loss", xgboost="survival:aft", catboost="SurvivalAft"),
    Elsewhere("leaf", owner="growth", xgboost="lossguide", catboost="Lossguide", ydf="BEST_FIRST_GLOBAL"),
    Elsewhere("level", owner="growth", xgboost="depthwise", catboost="Depthwise", ydf="LOCAL"),
    Elsewhere("symmetric", owner="growth", catboost="SymmetricTree"),
    Elsewhere("goss", owner="sampling", ydf="GOSS"),
    Elsewhere("mvs", owner="sampling", xgboost="gradient_based", catboost="MVS"),
    Elsewhere("bayesian", owner="sampling", catboost="Bayesian"),
    Elsewhere("subsample", owner="sampling", lightgbm="bagging", xgboost="uniform", catboost="Bernoulli", ydf="RANDOM"),
    Elsewhere("cosine", owner="split_score", catboost="Cosine"),
    Elsewhere("gain", owner="split_score", catboost="L2"),
    Elsewhere("squared_error", owner="criterion", sklearn="mse friedman_mse variance"),
    Elsewhere("absolute_error", owner="criterion", sklearn="mae"),
)

# Methods and attributes of fitted models.
ATTRIBUTES = (
    Elsewhere("save(path)", lightgbm="save_model", xgboost="save_model", catboost="save_model", ydf="save"),
    Elsewhere("", "call arboretum.load(path)", xgboost="load_model", catboost="load_model"),
    Elsewhere("forest_", lightgbm="booster_", xgboost="get_booster"),
    Elsewhere("to_frame()", lightgbm="trees_to_dataframe", xgboost="trees_to_dataframe"),
    Elsewhere("to_text()", xgboost="get_dump dump_model", lightgbm="dump_model", ydf="print_tree"),
    Elsewhere("plot_tree()", catboost="plot_tree", ydf="plot_tree"),
    Elsewhere(
        "n_iter_",
        "rounds kept",
        lightgbm="best_iteration_",
        xgboost="best_iteration",
        catboost="best_iteration_ get_best_iteration tree_count_",
        sklearn="n_estimators_",
    ),
    Elsewhere(
        "history_",
        lightgbm="evals_result_ best_score_",
        xgboost="evals_result best_score",
        catboost="evals_result_ get_evals_result best_score_ get_best_score",
        sklearn="train_score_ validation_score_ loss_curve_",
    ),
    Elsewhere(
        "importances()",
        "every kind, side by side",
        lightgbm="feature_importance",
        xgboost="get_score",
        catboost="get_feature_importance",
        ydf="variable_importances",
    ),
    Elsewhere("feature_names_in_", lightgbm="feature_name_", catboost="feature_names_"),
    Elsewhere("explain(X)", catboost="calc_feature_statistics", ydf="predict_shap"),
    Elsewhere("apply(X)", catboost="calc_leaf_indexes", ydf="predict_leaves"),
    Elsewhere("report(X, y)", ydf="analyze describe"),
    Elsewhere("score(X, y)", ydf="evaluate"),
)

# Classes and functions of the libraries.
CLASSES = (
    Elsewhere(
        "BoostedTreesClassifier",
        lightgbm="LGBMClassifier",
        xgboost="XGBClassifier",
        catboost="CatBoostClassifier",
        sklearn="GradientBoostingClassifier HistGradientBoostingClassifier",
        ydf="GradientBoostedTreesLearner",
    ),
    Elsewhere(
        "BoostedTreesRegressor",
        lightgbm="LGBMRegressor",
        xgboost="XGBRegressor",
        catboost="CatBoostRegressor CatBoost",
        sklearn="GradientBoostingRegressor HistGradientBoostingRegressor",
        ydf="GradientBoostedTreesLearner",
    ),
    Elsewhere("BoostedTreesRanker", lightgbm="LGBMRanker", xgboost="XGBRanker", catboost="CatBoostRanker"),
    Elsewhere("RandomForestClassifier", xgboost="XGBRFClassifier", ydf="RandomForestLearner"),
    Elsewhere("RandomForestRegressor", xgboost="XGBRFRegressor", ydf="RandomForestLearner"),
    Elsewhere("DecisionTreeClassifier", ydf="CartLearner"),
    Elsewhere("IsolationForest", ydf="IsolationForestLearner"),
    Elsewhere("Dataset", "or fit(X, y) as it is", xgboost="DMatrix QuantileDMatrix", catboost="Pool"),
    Elsewhere("", "make an estimator and call fit(X, y)", lightgbm="train Booster", xgboost="train Booster"),
    Elsewhere("cross_validate", lightgbm="cv", xgboost="cv", catboost="cv"),
)


def advice(table: tuple[Elsewhere, ...], name: str, known: Collection[str] | None = None, owner: str = "") -> str:
    """Say what a name of another library is called here; nothing if no library has it.

    Parameters
    ----------
    table : tuple of Elsewhere
        Where to look.
    name : str
        The name that was given.
    known : collection of str, optional
        Names that exist where it was given; no other is recommended.
    owner : str
        The parameter whose value it is.

    Examples
    --------
    >>> advice(PARAMETERS, "num_leaves")
    "LightGBM's and CatBoost's num_leaves is max_leaf_nodes here"
    >>> advice(PARAMETERS, "alpha", known=["quantile"])
    "LightGBM's and scikit-learn's alpha is quantile here"
    >>> advice(VALUES, "mse", owner="loss")
    "LightGBM's mse is 'squared_error' here"
    >>> advice(PARAMETERS, "spam")
    ''
    """
    sentences = []
    for row in table:
        is_known = known is None or not row.ours or _identifier(row.ours) in known
        libraries = row.libraries(name)
        if libraries and is_known and row.owner == owner:
            sentences.append(_sentence(row, name, libraries))
    return "; ".join(dict.fromkeys(sentences))


def _sentence(row: Elsewhere, name: str, libraries: list[str]) -> str:
    if not row.ours:
        return row.remark
    *others, last = (f"{library}'s" for library in libraries)
    owners = f"{', '.join(others)} and {last}" if others else last
    ours = repr(row.ours) if row.owner else row.ours
    return f"{owners} {name} is {ours} here{f' ({row.remark})' if row.remark else ''}"


def _identifier(words: str) -> str:
    """Return the name that a call such as ``save(path)`` begins with."""
    return words.partition("(")[0]


HEAD = """# Coming from another library

There are no aliases: a name of another library raises an error that tells its name here. This page is the table behind
those errors, written by the program: `python -m arboretum.other_libraries > docs/coming-from.md`.
[presets.md](presets.md) shows the switches that make boosted trees grow as each library does.

```python
import arboretum as arb

try:
    arb.BoostedTreesClassifier(num_leaves=63)
except TypeError as error:
    print(error)  # BoostedTreesClassifier has no parameter 'num_leaves': LightGBM's ... is max_leaf_nodes here
```
"""


def page() -> str:
    """Return docs/coming-from.md."""
    sections = {
        "Classes and functions": CLASSES,
        "Parameters": PARAMETERS,
        "Arguments of `fit` and `predict`": ARGUMENTS,
        "Values": VALUES,
        "Methods and attributes of fitted models": ATTRIBUTES,
    }
    return HEAD + "".join(_section(title, table) for title, table in sections.items())


def _section(title: str, table: tuple[Elsewhere, ...]) -> str:
    names = " | ".join(LIBRARIES.values())
    lines = [f"\n## {title}\n", f"| here | {names} |", "|---" * (len(LIBRARIES) + 1) + "|"]
    for row in table:
        elsewhere = (getattr(row, library).split() for library in LIBRARIES)
        lines.append(f"| {_here(row)} | {' | '.join(', '.join(f'`{name}`' for name in cell) for cell in elsewhere)} |")
    return "\n".join(lines) + "\n"


def _here(row: Elsewhere) -> str:
    if not row.ours:
        return row.remark
    ours = f'`{row.owner}="{row.ours}"`' if row.owner else f"`{row.ours}`"
    return f"{ours}{f', {row.remark}' if row.remark else ''}"


if __name__ == "__main__":
    print(page(), end="")
