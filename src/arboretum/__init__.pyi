"""The public names and modules, each with its place: what type checkers read, and ``__init__.py`` imports from."""

from arboretum import explaining as explaining
from arboretum import losses as losses
from arboretum import metrics as metrics
from arboretum import plotting as plotting
from arboretum import reading as reading
from arboretum import tasks as tasks
from arboretum import testing as testing
from arboretum.data.dataset import Dataset as Dataset
from arboretum.data.schema import TextColumnWarning as TextColumnWarning
from arboretum.ensembles.boosting.average_rounds import AverageRounds as AverageRounds
from arboretum.ensembles.boosting.history import History as History
from arboretum.ensembles.boosting.presets import presets as presets
from arboretum.estimators.adaboost import AdaBoostClassifier as AdaBoostClassifier
from arboretum.estimators.adaboost import AdaBoostRegressor as AdaBoostRegressor
from arboretum.estimators.additive import AdditiveBoostingClassifier as AdditiveBoostingClassifier
from arboretum.estimators.additive import AdditiveBoostingRegressor as AdditiveBoostingRegressor
from arboretum.estimators.average import average as average
from arboretum.estimators.bagging import BaggingClassifier as BaggingClassifier
from arboretum.estimators.bagging import BaggingRegressor as BaggingRegressor
from arboretum.estimators.boosted_trees import BoostedTreesClassifier as BoostedTreesClassifier
from arboretum.estimators.boosted_trees import BoostedTreesRanker as BoostedTreesRanker
from arboretum.estimators.boosted_trees import BoostedTreesRegressor as BoostedTreesRegressor
from arboretum.estimators.boosted_trees import BoostedTreesSurvival as BoostedTreesSurvival
from arboretum.estimators.calibrated import CalibratedClassifier as CalibratedClassifier
from arboretum.estimators.checkpoint_average import CheckpointAverage as CheckpointAverage
from arboretum.estimators.checkpoints import Checkpoint as Checkpoint
from arboretum.estimators.conformal import ConformalRegressor as ConformalRegressor
from arboretum.estimators.cross_validation import CrossValidation as CrossValidation
from arboretum.estimators.cross_validation import cross_validate as cross_validate
from arboretum.estimators.decision_trees import DecisionTreeClassifier as DecisionTreeClassifier
from arboretum.estimators.decision_trees import DecisionTreeRegressor as DecisionTreeRegressor
from arboretum.estimators.files import load as load
from arboretum.estimators.forests import ExtraTreesClassifier as ExtraTreesClassifier
from arboretum.estimators.forests import ExtraTreesRegressor as ExtraTreesRegressor
from arboretum.estimators.forests import RandomForestClassifier as RandomForestClassifier
from arboretum.estimators.forests import RandomForestRegressor as RandomForestRegressor
from arboretum.estimators.isolation_forest import IsolationForest as IsolationForest
from arboretum.estimators.random_survival_forest import RandomSurvivalForest as RandomSurvivalForest
from arboretum.estimators.uplift_boosting import UpliftBoostedTrees as UpliftBoostedTrees
from arboretum.estimators.uplift_forest import UpliftForest as UpliftForest
from arboretum.growing.criteria import entropy as entropy
from arboretum.growing.criteria import gain_ratio as gain_ratio
from arboretum.growing.criteria import gini as gini
from arboretum.growing.criteria import information_gain as information_gain
from arboretum.growing.criteria import variance_reduction as variance_reduction
from arboretum.losses import Loss as Loss
from arboretum.model.forest import Forest as Forest
from arboretum.model.model_file import ModelFileError as ModelFileError
from arboretum.running.interruption import InterruptedFit as InterruptedFit
from arboretum.running.progress import RoundReport as RoundReport

__version__: str
__all__: list[str]
