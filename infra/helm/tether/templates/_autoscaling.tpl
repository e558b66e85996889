{{/* keda, hpa or nothing; refuses what cannot work. */}}
{{- define "tether.autoscaler" -}}
{{- with .Values.worker.autoscaling -}}
{{- if and .keda.enabled .hpa.enabled -}}
{{- fail "worker.autoscaling: keda and hpa are both enabled, and would fight over the replicas: enable one of them" -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "worker.autoscaling: minReplicas %d is more than maxReplicas %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- if .keda.enabled -}}
{{- $_ := required "worker.autoscaling.keda.prometheusUrl: say where Prometheus is, such as http://prometheus-operated.monitoring.svc:9090" .keda.prometheusUrl -}}
keda
{{- else if .hpa.enabled -}}
{{- if lt (int .minReplicas) 1 -}}
{{- fail "worker.autoscaling: minReplicas is 0, from which a HorizontalPodAutoscaler never scales up: set 1 or more, or use keda" -}}
{{- end -}}
hpa
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One question to Prometheus. That it has no answer does not mean that nothing waits. */}}
{{- define "tether.trigger" -}}
- type: prometheus
  name: {{ .name }}
  metricType: {{ .type }}
  metadata:
    serverAddress: {{ .keda.prometheusUrl | quote }}
    query: {{ .query | quote }}
    threshold: {{ include "tether.optionText" .threshold | quote }}
    # From none to one worker: as soon as anything waits.
    activationThreshold: '0'
    ignoreNullValues: 'false'
  {{- with .keda.authentication }}
  authenticationRef:
    name: {{ . }}
  {{- end }}
{{- end -}}
