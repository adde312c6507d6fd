return "outside"
