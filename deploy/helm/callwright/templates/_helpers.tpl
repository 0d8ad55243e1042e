{{- define "callwright.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "callwright.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "callwright.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "callwright.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "callwright.selectorLabels" -}}
app.kubernetes.io/name: {{ include "callwright.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "callwright.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "callwright.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "callwright.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "callwright.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "callwright.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}

{{/* Refuses combinations that would lose data or not start. */}}
{{- define "callwright.check" -}}
{{- if not .Values.store.existingSecret }}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) }}
{{- fail "SQLite permits one pod: set store.existingSecret to a secret with a PostgreSQL URL, or replicaCount=1 without autoscaling" }}
{{- end }}
{{- else if .Values.store.persistence.enabled }}
{{- fail "store.persistence is for SQLite: unset store.existingSecret, or disable it" }}
{{- end }}
{{- end }}
