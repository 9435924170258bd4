#!/usr/bin/env bash
# Audit models: findings as annotations, and as SARIF in a file. The exit code is the audit's: 1 where something is
# found that matters, 2 where a model cannot be read.
#
# IR_INTERP_MODELS: models or folders, one a line; IR_INTERP_OPTIONS: options of the audit; IR_INTERP_SARIF: the file.
set -uo pipefail

mapfile -t models < <(grep -v '^[[:space:]]*$' <<<"$IR_INTERP_MODELS")
read -ra options <<<"${IR_INTERP_OPTIONS:-}"

ir-interp audit --format sarif ${options[@]+"${options[@]}"} -- "${models[@]}" >"$IR_INTERP_SARIF" 2>/dev/null
exec ir-interp audit --format github ${options[@]+"${options[@]}"} -- "${models[@]}"
