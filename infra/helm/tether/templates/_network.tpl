{{/* TCP to or from these; no peer at all means anywhere. */}}
{{- define "tether.rule" -}}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
  {{- if .peers }}
  {{ .direction }}:
    {{- toYaml .peers | nindent 4 }}
  {{- end }}
{{- end -}}
