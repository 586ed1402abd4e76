#!/bin/sh
# kcat decodes records through the registry, and shows their CloudEvents headers. Environment: KAFKA, REGISTRY.
set -eu
topic=${NAMESPACE:-turnstream}.rollouts
headers=$(kcat -q -b "$KAFKA" -C -t "$topic" -o beginning -c 3 -e -f '%h\n')
for name in ce_id= ce_type= ce_source= ce_time= ce_specversion=1.0 content-type=application/avro run-id=; do
  case $headers in *"$name"*) ;; *) echo "FAILED: no header $name in $headers"; exit 1 ;; esac
done
echo "ok kcat shows the headers"
# A kcat without Avro cannot decode the values; the headers above do not need it.
if kcat -X list 2>/dev/null | grep -q schema.registry || kcat -V 2>&1 | grep -qi avro; then
  kcat -q -b "$KAFKA" -C -t "$topic" -o beginning -c 3 -e -s value=avro -r "$REGISTRY" | grep -q '"event_id"'
  echo "ok kcat decodes the values through the registry"
else
  echo "this kcat was built without Avro: its values are not decoded"
fi
