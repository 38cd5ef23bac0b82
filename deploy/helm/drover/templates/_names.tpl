{{- /* Templates keep to what packages/testkit/src/helm/render-chart.ts renders: see docs/KUBERNETES.md. */ -}}
{{- define "drover.selector" -}}
app: {{ .Release.Name | quote }}
{{- end -}}
{{- define "drover.labels" -}}
app: {{ .Release.Name | quote }}
app.kubernetes.io/name: drover
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
