"""Parameters: declared once, checked, documented; groups that estimators of several families share."""
