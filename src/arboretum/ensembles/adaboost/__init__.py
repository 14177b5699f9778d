"""AdaBoost: learners fitted one after the other to rows that weigh more, the more often they were got wrong."""
