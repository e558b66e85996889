{{/* What a container is told, and the files that it reads. */}}

{{/* Options in camelCase as TETHER_* variables; lists with commas between, whole numbers without exponent. */}}
{{- define "tether.options" -}}
{{- range $name, $value := . }}
- name: TETHER_{{ $name | snakecase | upper }}
  value: {{ include "tether.optionText" $value | quote }}
{{- end }}
{{- end -}}

{{- define "tether.optionText" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* (dict "root" $ "role" "watcher" "values" .Values.watcher) */}}
{{- define "tether.env" -}}
{{- $values := .root.Values -}}
- name: TETHER_REDIS_URL
{{- if $values.redis.url }}
  {{- if contains "@" $values.redis.url }}
  {{- fail "redis.url: it holds a user or a password, which anybody who may read Deployments would see: put the URL into a Secret, and name that in redis.existingSecret" }}
  {{- end }}
  value: {{ $values.redis.url | quote }}
{{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ required "redis.existingSecret: name the Secret that holds the URL of Redis (or set redis.url, where it holds no password)" $values.redis.existingSecret }}
      key: {{ $values.redis.urlKey }}
{{- end }}
{{- with $values.redis.sentinelPasswordKey }}
- name: TETHER_REDIS_SENTINEL_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ required "redis.existingSecret: name the Secret that holds the password of the Sentinels" $values.redis.existingSecret }}
      key: {{ . }}
{{- end }}
{{- with $values.redis.tls }}
{{- if .existingSecret }}
{{- range $variable, $key := dict "CA" .caKey "CERT" .certKey "KEY" .keyKey }}
{{- if $key }}
- name: TETHER_REDIS_{{ $variable }}_FILE
  value: /etc/tether/redis/{{ $key }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
- name: TETHER_NAMESPACE
  value: {{ include "tether.clusterNamespace" .root }}
- name: TETHER_HTTP_PORT
  value: '9090'
{{- if eq .role "lookup" }}
- name: TETHER_LOOKUP_ADDR
  value: '*:8480'
{{- if .values.token.existingSecret }}
- name: TETHER_LOOKUP_TOKEN_FILE
  value: /etc/tether/lookup/token
{{- end }}
{{- if .values.trigger.existingSecret }}
- name: TETHER_TRIGGER_TOKEN_FILE
  value: /etc/tether/trigger/token
{{- end }}
{{- end }}
{{- include "tether.options" (mergeOverwrite (deepCopy $values.config) .values.config) }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tether.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .root.Values.redis.tls.existingSecret }}
- name: redis-tls
  mountPath: /etc/tether/redis
  readOnly: true
{{- end }}
{{- if eq .role "lookup" }}
{{- range $name := list "token" "trigger" }}
{{- if (index $.values $name).existingSecret }}
- name: {{ $name }}
  mountPath: /etc/tether/{{ eq $name "token" | ternary "lookup" $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Whole folders, so that a Secret that is changed gets here: a subPath would stay as it is. */}}
{{- define "tether.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- with .root.Values.redis.tls }}
{{- if .existingSecret }}
- name: redis-tls
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      {{- range compact (list .caKey .certKey .keyKey) }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
{{- end }}
{{- end }}
{{- if eq .role "lookup" }}
{{- range $name := list "token" "trigger" }}
{{- with index $.values $name }}
{{- if .existingSecret }}
- name: {{ $name }}
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .key }}
        path: token
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
