#!/usr/bin/env bash
# Audit models, print findings as annotations and write them as SARIF. Exits with the code of the audit: 1 for findings
# that count, 2 for a model that cannot be read.
#
# IR_INTERP_MODELS: models or folders, one per line; IR_INTERP_OPTIONS: options of the audit; IR_INTERP_SARIF: the file.
set -uo pipefail

mapfile -t models < <(grep -v '^[[:space:]]*$' <<<"$IR_INTERP_MODELS")
read -ra options <<<"${IR_INTERP_OPTIONS:-}"

ir-interp audit --format sarif ${options[@]+"${options[@]}"} -- "${models[@]}" >"$IR_INTERP_SARIF" 2>/dev/null
exec ir-interp audit --format github ${options[@]+"${options[@]}"} -- "${models[@]}"
