{{/* The Pod of a role: (dict "root" $ "role" "watcher" "values" .Values.watcher). */}}
{{- define "tether.podTemplate" -}}
{{- $values := .root.Values -}}
metadata:
  labels:
    {{- include "tether.selectorLabels" . | nindent 4 }}
    {{- with $values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ .role }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "tether.roleName" . }}
  automountServiceAccountToken: {{ has .role (splitList " " (include "tether.apiRoles" .root)) }}
  # A Service called tether-http would set TETHER_HTTP_PORT.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "tether.graceSeconds" . }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .role }}
      image: {{ include "tether.image" .root }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [{{ .role }}]
      {{- with $values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      env:
        {{- include "tether.env" . | nindent 8 }}
      ports:
        - name: http
          containerPort: 9090
        {{- if eq .role "lookup" }}
        - name: lookup
          containerPort: 8480
        {{- end }}
      {{- include "tether.probes" . | nindent 6 }}
      {{- if eq .role "lookup" }}
      # Clients are told that it goes a moment after it is told to.
      lifecycle:
        preStop:
          sleep:
            seconds: 5
      {{- end }}
      {{- with .values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "tether.volumeMounts" . | nindent 8 }}
  volumes:
    {{- include "tether.volumes" . | nindent 4 }}
  topologySpreadConstraints:
    {{- include "tether.spread" . | nindent 4 }}
  {{- with .values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* What it takes to end runs, and to put back those that do not end; the rest is for the kubelet. */}}
{{- define "tether.graceSeconds" -}}
{{- $config := mergeOverwrite (deepCopy .root.Values.config) .values.config -}}
{{- add 20 (ceil (default 10 $config.drainSeconds)) -}}
{{- end -}}

{{/* A start waits for the API server without answering anybody: it has five minutes before it is begun anew. */}}
{{- define "tether.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 150
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}

{{- define "tether.spread" -}}
{{- $selector := dict "matchLabels" (fromYaml (include "tether.selectorLabels" .)) -}}
{{- $keys := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" -}}
{{- $constraints := .values.topologySpreadConstraints -}}
{{- if not $constraints -}}
{{- range $keys -}}
{{- $one := dict "maxSkew" 1 "topologyKey" . "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash") -}}
{{- $constraints = append $constraints $one -}}
{{- end -}}
{{- end -}}
{{- range $constraints }}
{{- $one := hasKey . "labelSelector" | ternary . (merge (dict "labelSelector" $selector) .) }}
- {{ toYaml $one | nindent 2 | trim }}
{{- end }}
{{- end -}}
