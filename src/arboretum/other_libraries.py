"""What names from other libraries are called here: one table for errors and for docs/coming-from.md.

There are no aliases. A name of another library raises an error that says what to write instead; the page
docs/coming-from.md is the same table: ``python -m arboretum.other_libraries > docs/coming-from.md``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

__all__ = [
    "ARGUMENTS",
    "ATTRIBUTES",
    "CLASSES",
    "CROSS_VALIDATION",
    "LIBRARIES",
    "PARAMETERS",
    "VALUES",
    "Elsewhere",
    "Place",
    "advice",
]

LIBRARIES = {
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "sklearn": "scikit-learn",
    "ydf": "YDF",
}


@dataclass(frozen=True)
class Place:
    """A class that was given a name, and what its users can write, in the notation of remarks."""

    name: str
    has: Collection[str]


@dataclass(frozen=True)
class Elsewhere:
    """One thing, by its name here and by its names, separated by blanks, in other libraries.

    ``ours`` is a parameter, argument, value, attribute or class of this library; if it is empty, ``remark`` says what
    to do instead. ``owner`` is the parameter that a value belongs to. Of the rows that share a name of a library, the
    first one that holds for a class is told.

    Remarks write parameters as ``l2=``, arguments as ``fit(offset=)`` and members as ``model.save``: a row holds for
    classes that have all that it mentions, and all that it ``needs``. Others are told that ``of`` has it, and what the
    class ``lacks``.
    """

    ours: str
    remark: str = ""
    lightgbm: str = ""
    xgboost: str = ""
    catboost: str = ""
    sklearn: str = ""
    ydf: str = ""
    owner: str = ""
    needs: str = ""
    of: str = "boosted trees"
    lacks: str = ""

    def libraries(self, name: str) -> list[str]:
        """Return the libraries that use the name for this; values are read in any case, and CatBoost's with options."""
        if not self.owner:
            return [title for library, title in LIBRARIES.items() if name in getattr(self, library).split()]
        words = (name.lower(), name.lower().partition(":")[0])
        return [
            title
            for library, title in LIBRARIES.items()
            if any(w in getattr(self, library).lower().split() for w in words)
        ]

    def is_about(self, name: str) -> bool:
        """Whether the name is one of this row: of another library, or our own."""
        return bool(self.libraries(name)) or (not self.owner and name == _identifier(self.ours))

    def holds(self, known: Collection[str] | None, place: Place | None) -> bool:
        """Whether what the row recommends exists."""
        is_known = known is None or not self.ours or _identifier(self.ours) in known
        return is_known and (place is None or all(name in place.has for name in self.mentioned()))

    def mentioned(self) -> set[str]:
        """Return the parameters, arguments and members that remark and needs mention.

        Examples
        --------
        >>> sorted(Elsewhere("", "use l2=1 and fit(X, offset=...), or model.save(path)").mentioned())
        ['fit(offset=)', 'l2=', 'model.save']
        """
        text = f"{self.remark} {self.needs}"
        calls = re.findall(r"([\w.]+)\(([^)]*)\)", text)
        arguments = {f"fit({name}=)" for function, given in calls if function == "fit" for name in _named(given)}
        members = {f"model.{name}" for name in re.findall(r"model\.(\w+)", text)}
        return arguments | members | {f"{name}=" for name in _named(re.sub(r"\([^)]*\)", "", text))}


def _named(text: str) -> list[str]:
    return re.findall(r"(\w+)=", text)


def _identifier(words: str) -> str:
    """Return the name that a call such as ``save(path)`` begins with."""
    return words.partition("(")[0]


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
        of="boosted trees and forests",
    ),
    Elsewhere("learning_rate", lightgbm="eta shrinkage_rate", xgboost="eta", catboost="eta", ydf="shrinkage"),
    Elsewhere(
        "max_leaf_nodes",
        lightgbm="num_leaves num_leaf max_leaves max_leaf",
        xgboost="max_leaves",
        catboost="max_leaves num_leaves",
        of="boosted trees and forests",
    ),
    Elsewhere("max_leaf_nodes", "leaves, not nodes: half as many", ydf="max_num_nodes", of="boosted trees and forests"),
    Elsewhere("max_depth", catboost="depth", of="boosted trees and forests"),
    Elsewhere(
        "min_samples_leaf",
        "rows, counted exactly",
        lightgbm="min_data_in_leaf min_child_samples min_data min_data_per_leaf",
        catboost="min_data_in_leaf min_child_samples",
        ydf="min_examples",
        of="boosted trees and forests",
    ),
    Elsewhere(
        "min_child_weight",
        "sum of hessians",
        lightgbm="min_sum_hessian_in_leaf min_sum_hessian min_hessian min_sum_hessian_per_leaf",
    ),
    Elsewhere("min_gain", lightgbm="min_split_gain min_gain_to_split", sklearn="min_impurity_decrease"),
    Elsewhere("min_gain", "with prune=True, as XGBoost does", xgboost="gamma min_split_loss"),
    Elsewhere(
        "min_impurity_decrease",
        lightgbm="min_split_gain min_gain_to_split",
        xgboost="gamma min_split_loss",
        of="forests",
    ),
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
    Elsewhere("", "use l2= to shrink the values of small leaves", lightgbm="path_smooth"),
    Elsewhere("quantile", lightgbm="alpha", xgboost="quantile_alpha", sklearn="alpha", of="BoostedTreesRegressor"),
    Elsewhere(
        "power",
        lightgbm="tweedie_variance_power",
        xgboost="tweedie_variance_power",
        of="BoostedTreesRegressor",
    ),
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
        of="boosted trees and forests",
    ),
    Elsewhere(
        "",
        "bins are cut at quantiles of about 200,000 rows; max_bins=None reads all",
        lightgbm="subsample_for_bin bin_construct_sample_cnt",
        needs="max_bins=",
        lacks="makes no bins",
    ),
    Elsewhere(
        "",
        "bins hold about as many rows each; use max_bins= to have fewer",
        lightgbm="min_data_in_bin",
        lacks="makes no bins",
    ),
    Elsewhere(
        "",
        "leave such columns out of X",
        lightgbm="ignore_column ignore_feature blacklist",
        catboost="ignored_features",
    ),
    Elsewhere(
        "",
        "the order of rows means nothing here; cross_validate takes scikit-learn's TimeSeriesSplit",
        catboost="has_time",
    ),
    Elsewhere(
        "",
        "classes are those of y: leave it out",
        lightgbm="num_class num_classes",
        xgboost="num_class",
        catboost="classes_count",
    ),
    Elsewhere("", "all columns are drawn alike", xgboost="feature_weights", catboost="feature_weights"),
    Elsewhere("", "unknown parameters are always refused", xgboost="validate_parameters"),
    Elsewhere("", "NaN is missing: replace other marks before fit", xgboost="missing"),
    Elsewhere(
        "max_bins",
        "max_bins=None tries every distinct value",
        xgboost="tree_method",
        ydf="sorting_strategy",
        of="boosted trees and forests",
    ),
    Elsewhere(
        "subsample",
        "drawn for every tree: there is no frequency to set",
        lightgbm="bagging_fraction bagging sub_row bagging_freq subsample_freq",
    ),
    Elsewhere(
        "max_samples",
        "drawn for every tree",
        lightgbm="bagging_fraction bagging sub_row subsample bagging_freq subsample_freq",
        xgboost="subsample",
        catboost="subsample",
        sklearn="subsample",
        ydf="subsample bootstrap_size_ratio",
        of="forests",
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
        of="boosted trees and forests",
    ),
    Elsewhere(
        "max_features",
        "columns that each node may split on",
        lightgbm="feature_fraction colsample_bytree sub_feature",
        xgboost="colsample_bytree colsample_bylevel",
        of="forests",
    ),
    Elsewhere(
        "bootstrap",
        ydf="bootstrap_training_dataset sampling_with_replacement",
        of="forests",
    ),
    Elsewhere("oob_score", ydf="compute_oob_performances", of="forests"),
    Elsewhere("bagging_temperature", 'with sampling="bayesian"', catboost="bagging_temperature"),
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
        lacks="is a model of one kind: each kind has a class of its own",
    ),
    Elsewhere(
        "",
        "use ordered_boosting=4 for ordered boosting; the default is plain",
        catboost="boosting_type",
        lacks="is a model of one kind: each kind has a class of its own",
    ),
    Elsewhere("leaf_model", 'leaf_model="linear"', lightgbm="linear_tree linear_trees"),
    Elsewhere("linear_l2", lightgbm="linear_lambda"),
    Elsewhere("vector_leaves", "vector_leaves=True", xgboost="multi_strategy", of="BoostedTreesRegressor"),
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
        of="boosted trees and forests",
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
        of="boosted trees and forests",
    ),
    Elsewhere("interaction_cst", lightgbm="interaction_constraints", xgboost="interaction_constraints"),
    Elsewhere(
        "loss",
        lightgbm="objective objective_type app application",
        xgboost="objective",
        catboost="loss_function objective custom_loss",
    ),
    Elsewhere(
        "criterion",
        lightgbm="objective objective_type app application",
        xgboost="objective",
        catboost="loss_function objective",
        sklearn="loss",
        ydf="loss uplift_split_score",
        of="forests",
    ),
    Elsewhere(
        "scoring",
        "the metric of early stopping",
        lightgbm="metric metrics metric_types eval_metric",
        xgboost="eval_metric",
        catboost="eval_metric custom_metric",
        lacks="does not stop early",
    ),
    Elsewhere("tol", lightgbm="early_stopping_min_delta min_delta", lacks="does not stop early"),
    Elsewhere(
        "truncation",
        lightgbm="lambdarank_truncation_level",
        ydf="ndcg_truncation",
        of="BoostedTreesRanker",
    ),
    Elsewhere(
        "",
        'name the places in scoring="ndcg@10"',
        lightgbm="eval_at ndcg_eval_at ndcg_at",
        needs="truncation=",
        lacks="ranks nothing: BoostedTreesRanker does",
    ),
    Elsewhere(
        "",
        "the gain of a grade is 2**grade - 1: give other grades as y",
        lightgbm="label_gain",
        needs="truncation=",
        lacks="ranks nothing: BoostedTreesRanker does",
    ),
    Elsewhere(
        "class_weight",
        'a dict or "balanced"',
        lightgbm="is_unbalance unbalance unbalanced_sets scale_pos_weight",
        xgboost="scale_pos_weight",
        catboost="class_weights auto_class_weights scale_pos_weight",
        ydf="class_weights",
        of="BoostedTreesClassifier",
    ),
    Elsewhere(
        "n_iter_no_change",
        "with early_stopping=True, or fit(..., X_val=..., y_val=...)",
        lightgbm="early_stopping_round early_stopping_rounds",
        xgboost="early_stopping_rounds",
        catboost="early_stopping_rounds od_wait od_type od_pval",
        ydf="early_stopping_num_trees_look_ahead",
        lacks="does not stop early",
    ),
    Elsewhere(
        "n_iter_no_change",
        "with early_stopping=True",
        lightgbm="early_stopping_round early_stopping_rounds",
        xgboost="early_stopping_rounds",
        catboost="early_stopping_rounds od_wait od_type od_pval",
        ydf="early_stopping_num_trees_look_ahead",
        lacks="does not stop early",
    ),
    Elsewhere(
        "validation_fraction",
        catboost="eval_fraction",
        ydf="validation_ratio",
        lacks="holds no rows out",
    ),
    Elsewhere(
        "early_stopping",
        "the best round is kept whenever it is on",
        catboost="use_best_model",
        lacks="does not stop early",
    ),
    Elsewhere(
        "",
        "the model starts from the best constant; give fit(..., offset=...) to start elsewhere",
        lightgbm="boost_from_average init_score",
        xgboost="base_score base_margin",
        catboost="boost_from_average baseline",
        sklearn="init",
        lacks="takes no offsets: boosted trees do",
    ),
    Elsewhere(
        "",
        "give fit(..., X_val=..., y_val=...)",
        lightgbm="eval_set valid_sets",
        xgboost="eval_set evals",
        catboost="eval_set",
        lacks="takes no validation rows",
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
        of="boosted trees and forests",
    ),
    Elsewhere(
        "verbose",
        "0 is silent, the default",
        lightgbm="verbosity",
        xgboost="verbosity silent",
        catboost="silent logging_level metric_period verbose_eval",
        of="boosted trees and forests",
        lacks="shows no progress",
    ),
    Elsewhere("time_limit", "seconds", ydf="maximum_training_duration_seconds"),
    Elsewhere("callbacks", catboost="callback", lacks="calls nothing while it is fitted"),
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
        lacks="has no checkpoints: boosted trees do",
    ),
    Elsewhere(
        "",
        "ask model.importances() for every kind, side by side",
        lightgbm="importance_type",
        xgboost="importance_type",
        ydf="compute_oob_variable_importances compute_permutation_variable_importance",
    ),
    Elsewhere("voting", '"hard" counts the votes of trees', ydf="winner_take_all", of="RandomForestClassifier"),
    Elsewhere("estimator", sklearn="base_estimator", of="BaggingClassifier"),
    Elsewhere("", "the algorithm is SAMME", sklearn="algorithm", needs="estimator= learning_rate= model.predict_proba"),
    Elsewhere(
        "",
        "use min_samples_leaf=, max_leaf_nodes= and min_gain= to keep trees small",
        sklearn="ccp_alpha min_samples_split min_weight_fraction_leaf min_impurity_decrease",
        lacks="has nothing like it: DecisionTreeClassifier and DecisionTreeRegressor do",
    ),
    Elsewhere(
        "",
        "use min_samples_leaf=, max_leaf_nodes= and min_impurity_decrease= to keep trees small",
        sklearn="ccp_alpha",
    ),
    Elsewhere(
        "",
        "use min_samples_leaf= and max_leaf_nodes= to keep trees small",
        sklearn="ccp_alpha min_samples_split min_weight_fraction_leaf min_impurity_decrease",
    ),
    Elsewhere(
        "", "boosted trees split by gain, the only criterion", sklearn="criterion", needs="learning_rate= max_depth="
    ),
    Elsewhere(
        "",
        "survival trees split by the log-rank statistic, the only criterion",
        sklearn="criterion",
        needs="model.predict_survival_function",
    ),
    Elsewhere("oblique", "oblique=True", ydf="split_axis", of="forests"),
    Elsewhere("projection_density", ydf="sparse_oblique_projection_density_factor", of="forests"),
    Elsewhere(
        "n_projections",
        ydf="sparse_oblique_num_projections_exponent sparse_oblique_max_num_projections",
        of="forests",
    ),
    Elsewhere("", "give fit(X, y): features and target apart, or fit(dataset, target=...)", ydf="label features task"),
    Elsewhere("", "give fit(..., sample_weight=...)", ydf="weights"),
    Elsewhere("", "give fit(..., group=...)", ydf="ranking_group", lacks="ranks nothing: BoostedTreesRanker does"),
    Elsewhere(
        "",
        "give fit(..., treatment=...)",
        ydf="uplift_treatment",
        lacks="knows no treatments: UpliftForest and UpliftBoostedTrees do",
    ),
    Elsewhere("min_samples_treatment", ydf="uplift_min_examples_in_treatment", of="UpliftForest"),
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
        lacks="takes no validation rows",
    ),
    Elsewhere("y_val", lightgbm="eval_y", lacks="takes no validation rows"),
    Elsewhere(
        "sample_weight_val",
        lightgbm="eval_sample_weight",
        xgboost="sample_weight_eval_set",
        lacks="takes no validation rows",
    ),
    Elsewhere(
        "sample_weight", lightgbm="weight", xgboost="weight", ydf="weights", of="fit", lacks="weighs no rows here"
    ),
    Elsewhere(
        "group",
        "an id per row, not sizes",
        xgboost="qid",
        catboost="group_id",
        ydf="ranking_group",
        of="BoostedTreesRanker",
        lacks="ranks nothing",
    ),
    Elsewhere(
        "group_val",
        "an id per row, not sizes",
        lightgbm="eval_group",
        xgboost="eval_group eval_qid",
        of="BoostedTreesRanker",
        lacks="ranks nothing",
    ),
    Elsewhere("offset", lightgbm="init_score", xgboost="base_margin", catboost="baseline", lacks="takes no offsets"),
    Elsewhere(
        "offset_val", lightgbm="eval_init_score", xgboost="base_margin_eval_set", lacks="takes no validation rows"
    ),
    Elsewhere(
        "",
        "give n_iter_no_change= and early_stopping=True to the constructor",
        lightgbm="early_stopping_rounds",
        xgboost="early_stopping_rounds",
        catboost="early_stopping_rounds use_best_model",
        lacks="does not stop early",
    ),
    Elsewhere(
        "",
        "give scoring= to the constructor",
        lightgbm="eval_metric feval",
        xgboost="eval_metric custom_metric",
        lacks="does not stop early",
    ),
    Elsewhere(
        "",
        "give categorical_features= to the constructor; text and categories are found without it",
        lightgbm="categorical_feature",
        catboost="cat_features",
        lacks="leaves columns to the models that it is made of",
    ),
    Elsewhere(
        "",
        "give callbacks= to the constructor",
        lightgbm="callbacks",
        xgboost="callbacks",
        catboost="callbacks",
        lacks="calls nothing while it is fitted",
    ),
    Elsewhere(
        "",
        "give verbose= to the constructor",
        xgboost="verbose",
        catboost="verbose silent logging_level verbose_eval metric_period",
        lightgbm="verbose",
        lacks="shows no progress",
    ),
    Elsewhere(
        "",
        "call model.fit_more(X, y, n_estimators=...), or set warm_start=True",
        lightgbm="init_model",
        xgboost="xgb_model",
        catboost="init_model",
        lacks="cannot be fitted further",
    ),
    Elsewhere(
        "",
        "set warm_start=True, and raise n_estimators= before fit is called again",
        lightgbm="init_model",
        xgboost="xgb_model",
        catboost="init_model",
    ),
    Elsewhere("", "name the columns of X: a data frame", lightgbm="feature_name eval_names"),
    Elsewhere(
        "",
        "give fit(checkpoint=...)",
        catboost="save_snapshot snapshot_file snapshot_interval",
        lacks="has no checkpoints",
    ),
    Elsewhere("", "plot model.history_ or call model.report(...)", catboost="plot plot_file"),
    Elsewhere("", "call model.report(...)", catboost="plot plot_file"),
    Elsewhere(
        "",
        "call model.first_rounds(k).predict(X)",
        lightgbm="num_iteration start_iteration",
        xgboost="iteration_range ntree_limit",
        catboost="ntree_end ntree_start",
        lacks="has no rounds: all of it predicts",
    ),
    Elsewhere(
        "",
        "call model.decision_function(X)",
        lightgbm="raw_score",
        xgboost="output_margin",
        catboost="prediction_type",
        lacks="gives no raw scores",
    ),
    Elsewhere(
        "",
        "call model.explain(X)",
        lightgbm="pred_contrib",
        xgboost="pred_contribs pred_interactions",
        needs="model.forest_",
        lacks="predicts no sum of trees, which SHAP values would split",
    ),
    Elsewhere("", "call model.apply(X)", lightgbm="pred_leaf", xgboost="pred_leaf", lacks="has no leaves of its own"),
    Elsewhere("", "give n_jobs= to the constructor", catboost="thread_count", lightgbm="num_threads"),
)

# Arguments of cross_validate.
CROSS_VALIDATION = (
    Elsewhere("cv", "a number of folds", lightgbm="nfold", xgboost="nfold", catboost="nfold fold_count", ydf="folds"),
    Elsewhere(
        "cv", "a splitter, or pairs of training and held-out rows", lightgbm="folds", xgboost="folds", catboost="folds"
    ),
    Elsewhere("model", sklearn="estimator"),
    Elsewhere("group", "rows of a group stay together", sklearn="groups"),
    Elsewhere(
        "",
        "fit arguments are arguments of cross_validate: sample_weight, group, treatment, offset",
        sklearn="fit_params params",
    ),
    Elsewhere(
        "",
        "parameters are those of the model",
        lightgbm="params",
        xgboost="params",
        catboost="params",
        sklearn="param_grid",
    ),
    Elsewhere(
        "",
        "set n_iter_no_change of the model; its early_stopping=False turns early stopping off",
        lightgbm="early_stopping_rounds",
        xgboost="early_stopping_rounds",
        catboost="early_stopping_rounds",
    ),
    Elsewhere(
        "",
        "set n_estimators of the model",
        lightgbm="num_boost_round",
        xgboost="num_boost_round",
        catboost="num_boost_round iterations",
    ),
    Elsewhere(
        "",
        "set scoring of the model",
        lightgbm="metrics feval eval_metric",
        xgboost="metrics feval custom_metric",
        sklearn="scoring",
    ),
    Elsewhere("", "set loss of the model", lightgbm="fobj", xgboost="obj"),
    Elsewhere(
        "",
        "rows are dealt out at random, the same share of each class to every fold; give cv a splitter to change that",
        lightgbm="stratified shuffle",
        xgboost="stratified shuffle",
        catboost="stratified shuffle inverted type",
    ),
    Elsewhere(
        "",
        "set random_state of the model",
        lightgbm="seed",
        xgboost="seed",
        catboost="partition_random_seed seed",
    ),
    Elsewhere(
        "",
        "set verbose of the model",
        lightgbm="verbose_eval",
        xgboost="verbose_eval",
        catboost="verbose verbose_eval logging_level",
        sklearn="verbose",
    ),
    Elsewhere("", "set callbacks of the model", lightgbm="callbacks", xgboost="callbacks"),
    Elsewhere("", "set n_jobs of the model", sklearn="n_jobs"),
    Elsewhere(
        "",
        "what is found has models, scores and predictions of the held-out rows",
        lightgbm="return_cvbooster eval_train_metric show_stdv",
        xgboost="as_pandas show_stdv",
        catboost="as_pandas return_models",
        sklearn="return_estimator return_train_score return_indices",
    ),
)

# Values of parameters. Names of metrics differ from those of losses, though libraries mix them.
VALUES = (
    Elsewhere(
        "squared_error",
        owner="loss",
        lightgbm="regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse",
        xgboost="reg:squarederror reg:linear",
        catboost="RMSE",
        sklearn="ls least_squares",
        ydf="SQUARED_ERROR",
        of="BoostedTreesRegressor",
    ),
    Elsewhere("squared_error", "of several outputs", owner="loss", catboost="MultiRMSE", of="BoostedTreesRegressor"),
    Elsewhere(
        "squared_error",
        "of log(1 + y)",
        owner="loss",
        xgboost="reg:squaredlogerror",
        of="BoostedTreesRegressor",
    ),
    Elsewhere(
        "absolute_error",
        owner="loss",
        lightgbm="regression_l1 l1 mean_absolute_error mae",
        xgboost="reg:absoluteerror",
        catboost="MAE",
        sklearn="lad least_absolute_deviation",
        ydf="MEAN_AVERAGE_ERROR",
        of="BoostedTreesRegressor",
    ),
    Elsewhere(
        "absolute_error",
        "with sample_weight=1 / max(1, |y|), which is the same",
        owner="loss",
        lightgbm="mape mean_absolute_percentage_error",
        catboost="MAPE",
        of="BoostedTreesRegressor",
    ),
    Elsewhere(
        "square",
        owner="loss",
        lightgbm="regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse",
        xgboost="reg:squarederror reg:linear",
        catboost="RMSE",
        sklearn="ls least_squares squared_error",
        of="AdaBoostRegressor",
    ),
    Elsewhere(
        "linear",
        owner="loss",
        lightgbm="regression_l1 l1 mean_absolute_error mae",
        xgboost="reg:absoluteerror",
        catboost="MAE",
        sklearn="lad least_absolute_deviation absolute_error",
        of="AdaBoostRegressor",
    ),
    Elsewhere(
        "huber",
        owner="loss",
        xgboost="reg:pseudohubererror",
        catboost="Huber",
        of="BoostedTreesRegressor",
    ),
    Elsewhere("huber", "the nearest", owner="loss", lightgbm="fair", catboost="LogCosh", of="BoostedTreesRegressor"),
    Elsewhere(
        "quantile",
        "with quantile=...",
        owner="loss",
        xgboost="reg:quantileerror",
        catboost="Quantile",
        of="BoostedTreesRegressor",
    ),
    Elsewhere("quantile", "with quantile=[...]", owner="loss", catboost="MultiQuantile", of="BoostedTreesRegressor"),
    Elsewhere(
        "poisson", owner="loss", xgboost="count:poisson", catboost="Poisson", ydf="POISSON", of="BoostedTreesRegressor"
    ),
    Elsewhere("gamma", owner="loss", xgboost="reg:gamma", of="BoostedTreesRegressor"),
    Elsewhere(
        "tweedie", "with power=...", owner="loss", xgboost="reg:tweedie", catboost="Tweedie", of="BoostedTreesRegressor"
    ),
    Elsewhere(
        "log_loss",
        owner="loss",
        lightgbm="binary binary_logloss cross_entropy xentropy multiclass softmax multiclassova multiclass_ova ova ovr",
        xgboost="binary:logistic binary:logitraw reg:logistic multi:softmax multi:softprob",
        catboost="Logloss CrossEntropy MultiClass MultiClassOneVsAll",
        sklearn="deviance binary_crossentropy categorical_crossentropy",
        ydf="BINOMIAL_LOG_LIKELIHOOD MULTINOMIAL_LOG_LIKELIHOOD",
        of="BoostedTreesClassifier",
    ),
    Elsewhere(
        "log_loss",
        "of several outputs",
        owner="loss",
        catboost="MultiLogloss MultiCrossEntropy",
        of="BoostedTreesClassifier",
    ),
    Elsewhere("", "AdaBoostClassifier minimises it", owner="loss", sklearn="exponential"),
    Elsewhere(
        "lambdamart",
        owner="loss",
        lightgbm="lambdarank",
        xgboost="rank:ndcg rank:map",
        catboost="LambdaMart YetiRank",
        ydf="LAMBDA_MART_NDCG",
        of="BoostedTreesRanker",
    ),
    Elsewhere(
        "pairwise",
        owner="loss",
        xgboost="rank:pairwise",
        catboost="PairLogit PairLogitPairwise",
        of="BoostedTreesRanker",
    ),
    Elsewhere(
        "listwise",
        owner="loss",
        lightgbm="rank_xendcg xendcg",
        catboost="QuerySoftMax",
        ydf="XE_NDCG_MART",
        of="BoostedTreesRanker",
    ),
    Elsewhere(
        "cox",
        owner="loss",
        xgboost="survival:cox",
        catboost="Cox",
        ydf="COX_PROPORTIONAL_HAZARD",
        of="BoostedTreesSurvival",
    ),
    Elsewhere("aft", owner="loss", xgboost="survival:aft", catboost="SurvivalAft", of="BoostedTreesSurvival"),
    Elsewhere(
        "log_loss",
        owner="scoring",
        lightgbm="binary_logloss binary multi_logloss multiclass softmax cross_entropy xentropy",
        xgboost="logloss mlogloss",
        catboost="Logloss CrossEntropy MultiClass",
        of="classifiers",
    ),
    Elsewhere(
        "roc_auc",
        "'roc_auc_ovr' of more than two classes",
        owner="scoring",
        lightgbm="auc auc_mu",
        xgboost="auc",
        catboost="AUC",
        of="classifiers of two classes; 'roc_auc_ovr' is of more",
    ),
    Elsewhere(
        "average_precision",
        owner="scoring",
        xgboost="aucpr",
        catboost="PRAUC",
        of="classifiers of two classes",
    ),
    Elsewhere(
        "accuracy",
        "1 - error",
        owner="scoring",
        lightgbm="binary_error multi_error",
        xgboost="error merror",
        catboost="ZeroOneLoss",
        of="classifiers",
    ),
    Elsewhere("accuracy", owner="scoring", catboost="Accuracy", of="classifiers"),
    Elsewhere("balanced_accuracy", owner="scoring", catboost="BalancedAccuracy", of="classifiers"),
    Elsewhere("f1", owner="scoring", catboost="F1", of="classifiers"),
    Elsewhere("f1_macro", owner="scoring", catboost="TotalF1", of="classifiers"),
    Elsewhere(
        "rmse",
        "the root of the mean",
        owner="scoring",
        lightgbm="l2 mean_squared_error mse regression regression_l2",
        sklearn="mean_squared_error",
        of="regressors",
    ),
    Elsewhere(
        "rmse",
        owner="scoring",
        lightgbm="l2_root root_mean_squared_error",
        catboost="RMSE",
        sklearn="root_mean_squared_error",
        of="regressors",
    ),
    Elsewhere(
        "mae",
        owner="scoring",
        lightgbm="l1 mean_absolute_error regression_l1",
        catboost="MAE",
        sklearn="mean_absolute_error",
        of="regressors",
    ),
    Elsewhere("r2", owner="scoring", catboost="R2", of="regressors"),
    Elsewhere(
        "neg_mean_absolute_percentage_error",
        owner="scoring",
        lightgbm="mape mean_absolute_percentage_error",
        xgboost="mape",
        catboost="MAPE",
        of="regressors",
    ),
    Elsewhere("neg_root_mean_squared_log_error", owner="scoring", xgboost="rmsle", of="regressors"),
    Elsewhere(
        "ndcg",
        "as 'ndcg@10' of the first places",
        owner="scoring",
        lightgbm="lambdarank rank_xendcg xendcg",
        catboost="NDCG",
        of="rankers",
    ),
    Elsewhere(
        "map",
        "as 'map@10' of the first places",
        owner="scoring",
        lightgbm="mean_average_precision",
        catboost="MAP",
        of="rankers",
    ),
    Elsewhere("mrr", "as 'mrr@10' of the first places", owner="scoring", catboost="MRR", of="rankers"),
    Elsewhere(
        "loss",
        "that of the model",
        owner="scoring",
        lightgbm="huber fair poisson quantile gamma tweedie",
        xgboost="poisson-nloglik gamma-nloglik gamma-deviance tweedie-nloglik quantile cox-nloglik aft-nloglik mphe",
        catboost="Quantile MultiQuantile Poisson Tweedie Huber Cox SurvivalAft",
    ),
    Elsewhere("leaf", owner="growth", xgboost="lossguide", catboost="Lossguide", ydf="BEST_FIRST_GLOBAL"),
    Elsewhere("level", owner="growth", xgboost="depthwise", catboost="Depthwise", ydf="LOCAL"),
    Elsewhere("symmetric", owner="growth", catboost="SymmetricTree"),
    Elsewhere("goss", owner="sampling", ydf="GOSS"),
    Elsewhere("mvs", owner="sampling", xgboost="gradient_based", catboost="MVS"),
    Elsewhere("bayesian", owner="sampling", catboost="Bayesian"),
    Elsewhere("subsample", owner="sampling", lightgbm="bagging", xgboost="uniform", catboost="Bernoulli", ydf="RANDOM"),
    Elsewhere("cosine", owner="split_score", catboost="Cosine"),
    Elsewhere("gain", owner="split_score", catboost="L2"),
    Elsewhere("squared_error", owner="criterion", sklearn="mse friedman_mse variance", of="RandomForestRegressor"),
    Elsewhere("absolute_error", owner="criterion", sklearn="mae", of="RandomForestRegressor"),
)

# Methods and attributes of fitted models.
ATTRIBUTES = (
    Elsewhere("save(path)", lightgbm="save_model", xgboost="save_model", catboost="save_model"),
    Elsewhere("", "call arboretum.load(path)", xgboost="load_model", catboost="load_model"),
    Elsewhere("forest_", lightgbm="booster_", xgboost="get_booster", lacks="has no forest of its own"),
    Elsewhere(
        "to_frame()",
        lightgbm="trees_to_dataframe",
        xgboost="trees_to_dataframe",
        lacks="has no trees of its own",
    ),
    Elsewhere(
        "to_text()",
        xgboost="get_dump dump_model",
        lightgbm="dump_model",
        ydf="print_tree",
        lacks="has no trees of its own",
    ),
    Elsewhere("plot_tree()", catboost="plot_tree", ydf="plot_tree", lacks="has no trees of its own"),
    Elsewhere(
        "n_iter_",
        "rounds kept",
        lightgbm="best_iteration_",
        xgboost="best_iteration",
        catboost="best_iteration_ get_best_iteration tree_count_",
        sklearn="n_estimators_",
        lacks="does not stop early",
    ),
    Elsewhere(
        "history_",
        lightgbm="evals_result_ best_score_",
        xgboost="evals_result best_score",
        catboost="evals_result_ get_evals_result best_score_ get_best_score",
        sklearn="train_score_ validation_score_ loss_curve_",
        lacks="keeps no history of scores",
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
    Elsewhere("apply(X)", catboost="calc_leaf_indexes", ydf="predict_leaves", lacks="has no leaves of its own"),
    Elsewhere("report(X, y)", ydf="analyze describe"),
    Elsewhere("score(X, y)", ydf="evaluate", lacks="has no score of its own"),
)

# Classes and functions of the libraries.
CLASSES = (
    Elsewhere(
        "BoostedTreesClassifier",
        lightgbm="LGBMClassifier DaskLGBMClassifier",
        xgboost="XGBClassifier",
        catboost="CatBoostClassifier",
        sklearn="GradientBoostingClassifier HistGradientBoostingClassifier",
    ),
    Elsewhere(
        "BoostedTreesRegressor",
        lightgbm="LGBMRegressor DaskLGBMRegressor",
        xgboost="XGBRegressor",
        catboost="CatBoostRegressor CatBoost",
        sklearn="GradientBoostingRegressor HistGradientBoostingRegressor",
    ),
    Elsewhere(
        "",
        "use BoostedTreesClassifier or BoostedTreesRegressor",
        lightgbm="LGBMModel",
        ydf="GradientBoostedTreesLearner",
    ),
    Elsewhere(
        "BoostedTreesRanker", lightgbm="LGBMRanker DaskLGBMRanker", xgboost="XGBRanker", catboost="CatBoostRanker"
    ),
    Elsewhere("RandomForestClassifier", xgboost="XGBRFClassifier"),
    Elsewhere("RandomForestRegressor", xgboost="XGBRFRegressor"),
    Elsewhere("", "use RandomForestClassifier or RandomForestRegressor", ydf="RandomForestLearner"),
    Elsewhere("", "use DecisionTreeClassifier or DecisionTreeRegressor", ydf="CartLearner"),
    Elsewhere("ExtraTreesClassifier", "with n_estimators=1", sklearn="ExtraTreeClassifier"),
    Elsewhere("ExtraTreesRegressor", "with n_estimators=1", sklearn="ExtraTreeRegressor"),
    Elsewhere("CalibratedClassifier", sklearn="CalibratedClassifierCV"),
    Elsewhere("IsolationForest", ydf="IsolationForestLearner"),
    Elsewhere("Dataset", "or fit(X, y) as it is", xgboost="DMatrix QuantileDMatrix", catboost="Pool"),
    Elsewhere(
        "", "make an estimator and call fit(X, y)", lightgbm="train Booster", xgboost="train Booster", catboost="train"
    ),
    Elsewhere("cross_validate", lightgbm="cv", xgboost="cv", catboost="cv"),
)


def advice(
    table: tuple[Elsewhere, ...],
    name: str,
    known: Collection[str] | None = None,
    owner: str = "",
    place: Place | None = None,
) -> str:
    """Say what a name of another library is called here; nothing if the table does not have it.

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
    place : Place, optional
        The class that it was given to; what the class lacks is said so.

    Examples
    --------
    >>> advice(PARAMETERS, "num_leaves")
    "LightGBM's and CatBoost's num_leaves is max_leaf_nodes here"
    >>> advice(PARAMETERS, "alpha", known=["quantile"])
    "LightGBM's and scikit-learn's alpha is quantile here"
    >>> advice(VALUES, "mse", owner="loss")
    "LightGBM's mse is 'squared_error' here"
    >>> advice(VALUES, "mse", ["log_loss"], owner="loss")
    "LightGBM's mse is 'squared_error' of BoostedTreesRegressor"
    >>> advice(PARAMETERS, "depth", [], place=Place("IsolationForest", []))
    "CatBoost's depth is max_depth of boosted trees and forests; IsolationForest has nothing like it"
    >>> advice(PARAMETERS, "spam")
    ''
    """
    rows = [row for row in table if row.owner == owner and row.is_about(name)]
    holding = [row for row in rows if row.holds(known, place)]
    if rows and not holding:
        return _without(rows[0], name, place)
    sentences, told = [], set[str]()
    for row in holding:
        libraries = [library for library in row.libraries(name) if library not in told]
        told.update(libraries)
        if libraries:
            sentences.append(_sentence(row, name, libraries))
    return "; ".join(dict.fromkeys(sentences))


def _sentence(row: Elsewhere, name: str, libraries: list[str]) -> str:
    if not row.ours:
        return row.remark
    return f"{_theirs(name, libraries)} is {_ours(row)} here{f' ({row.remark})' if row.remark else ''}"


def _without(row: Elsewhere, name: str, place: Place | None) -> str:
    """Say who has what a name stands for, to a class that has no such thing."""
    libraries = row.libraries(name)
    has_it = f"{_theirs(name, libraries)} is {_ours(row)} of" if libraries else f"{name} belongs to"
    if place is None:
        return f"{has_it} {row.of}" if row.ours else ""
    if f"fit({row.ours}=)" in place.has:
        return f"{has_it} fit"
    inner = next((inner for inner in ("estimator=", "estimators=") if inner in place.has), None)
    lacks = f"{place.name} {row.lacks or 'has nothing like it'}"
    if not row.ours:
        return lacks
    return f"{has_it} {row.of}; {f'set it on what is given as {inner}' if inner and not row.lacks else lacks}"


def _theirs(name: str, libraries: list[str]) -> str:
    *others, last = (f"{library}'s" for library in libraries)
    return f"{', '.join(others)} and {last} {name}" if others else f"{last} {name}"


def _ours(row: Elsewhere) -> str:
    return repr(row.ours) if row.owner else row.ours


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
        "Arguments of `cross_validate`": CROSS_VALIDATION,
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
    of = f" of {row.of}" if row.of != Elsewhere.of else ""
    return f"{ours}{of}{f', {row.remark}' if row.remark else ''}"


if __name__ == "__main__":
    print(page(), end="")
