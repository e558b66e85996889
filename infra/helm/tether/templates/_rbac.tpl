{{/*
The rules of a role in files/rbac/, which holds what infra/rbac/ has: a chart reads no file outside of it. A
test compares the two. (dict "root" $ "file" "worker" "kind" "ClusterRole" "name" "tether-worker")
*/}}
{{- define "tether.rulesOf" -}}
{{- $rules := list -}}
{{- range splitList "\n---\n" (.root.Files.Get (printf "files/rbac/%s.yaml" .file)) -}}
{{- $document := fromYaml . -}}
{{- if and (eq $document.kind $.kind) (eq $document.metadata.name $.name) -}}
{{- $rules = $document.rules -}}
{{- end -}}
{{- end -}}
{{- toYaml (required (printf "files/rbac/%s.yaml has no %s %s" .file .kind .name) $rules) -}}
{{- end -}}
