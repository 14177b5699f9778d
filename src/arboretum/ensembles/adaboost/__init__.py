"""AdaBoost: learners fitted one after the other to rows whose weight grows each time they are predicted wrongly."""
