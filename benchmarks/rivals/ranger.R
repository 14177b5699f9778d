# Rscript ranger.R fit|predict FOLDER KIND RULE THREADS SEED: ranger as it comes, told of tables in files of doubles.
suppressMessages(library(ranger))
given <- commandArgs(trailingOnly = TRUE)
folder <- given[2]
table_of <- function(name) {
  shape <- scan(file.path(folder, paste0(name, ".txt")), quiet = TRUE)
  values <- readBin(file.path(folder, paste0(name, ".bin")), "double", shape[1] * shape[2])
  as.data.frame(matrix(values, shape[1], shape[2]))
}
kept <- file.path(folder, "model.rds")
threads <- as.integer(given[5])
if (given[1] == "fit") {
  is_number <- given[3] == "regression"
  y <- table_of("y")[[1]]
  model <- ranger(
    x = table_of("X"), y = if (is_number) y else factor(y), probability = !is_number, splitrule =
      if (given[4] == "extratrees") "extratrees" else NULL, num.threads = threads, seed = as.integer(given[6])
  )
  saveRDS(model, kept, compress = FALSE)
} else {
  answer <- predict(readRDS(kept), table_of("X"), num.threads = threads)$predictions
  if (is.matrix(answer)) answer <- answer[, order(as.numeric(colnames(answer)))]
  writeBin(as.double(answer), file.path(folder, "answer.bin"))
}
