{{/* Names and labels. */}}

{{- define "tether.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Of all objects, before their role. 40: a name of 63 characters must hold the role and a suffix too. */}}
{{- define "tether.fullname" -}}
{{- $name := include "tether.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of one role: (dict "root" $ "role" "watcher"). */}}
{{- define "tether.roleName" -}}
{{- printf "%s-%s" (include "tether.fullname" .root) .role -}}
{{- end -}}

{{/* What never changes: selectors are made of it. */}}
{{- define "tether.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tether.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .role }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "tether.labels" -}}
{{ include "tether.selectorLabels" . }}
app.kubernetes.io/part-of: tether
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tether.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tether.clusterNamespace" -}}
{{- default .Release.Namespace .Values.clusterSecrets.namespace -}}
{{- end -}}

{{/* Roles that talk to the API server, and so have rights there. */}}
{{- define "tether.apiRoles" -}}
watcher worker
{{- end -}}

{{/* All roles that are on. */}}
{{- define "tether.roles" -}}
watcher worker{{ if .Values.lookup.enabled }} lookup{{ end }}
{{- end -}}
