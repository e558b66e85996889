{{/* Something, where Helm takes an object of the cluster for this release's; by the marks that it leaves on it. */}}
{{- define "tether.ownsObject" -}}
{{- $annotations := dig "metadata" "annotations" dict .object -}}
{{- $release := dig "meta.helm.sh/release-name" "" $annotations -}}
{{- $namespace := dig "meta.helm.sh/release-namespace" "" $annotations -}}
{{- $manager := dig "metadata" "labels" "app.kubernetes.io/managed-by" "" .object -}}
{{- if and (eq $release .root.Release.Name) (eq $namespace .root.Release.Namespace) (eq $manager .root.Release.Service) -}}
yes
{{- end -}}
{{- end -}}
