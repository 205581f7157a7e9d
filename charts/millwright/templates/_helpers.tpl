{{/* Whether the release keeps machines of machine.openshift.io. Texts of templates are true unless they are empty. */}}
{{- define "millwright.openshift" -}}
{{- if has "machine.openshift.io" .Values.apis }}true{{ end }}
{{- end }}

{{/* An image as Deployments name it: the values .image, with .root as the top. */}}
{{- define "millwright.image" -}}
{{- $i := .image -}}
{{- if $i.digest }}{{ $i.repository }}@{{ $i.digest }}{{ else }}{{ $i.repository }}:{{ default .root.Chart.AppVersion $i.tag }}{{ end }}
{{- end }}

{{/* Whether instances are simulated. */}}
{{- define "millwright.kubemark" -}}
{{- if and .Values.kubemark.enabled (not .Values.provider.enabled) }}true{{ end }}
{{- end }}

{{/* Whether the values ask for a manifest: .object, with .root as the top. */}}
{{- define "millwright.wanted" -}}
{{- $o := .object -}}
{{- $v := .root.Values -}}
{{- $openshift := include "millwright.openshift" .root -}}
{{- $program := dig "metadata" "labels" "app.kubernetes.io/name" $o.metadata.name $o -}}
{{- if eq $o.kind "Namespace" -}}
{{- else if eq $o.kind "CustomResourceDefinition" -}}
  {{- if and $v.crds.install (or (eq $o.spec.group "millwright.dev") (ternary (has "machine.sapcloud.io" $v.apis) $openshift (eq $o.spec.group "machine.sapcloud.io"))) }}true{{ end -}}
{{- else if or (hasSuffix "WebhookConfiguration" $o.kind) (has $o.metadata.name (list "machine-api-operator-webhook" "control-plane-machine-set-operator-webhook")) -}}
  {{- if and $openshift $v.webhooks.enabled }}true{{ end -}}
{{- else if and (eq $program "machine-controller-kubemark") (not (include "millwright.kubemark" .root)) -}}
{{- else if and (eq $program "machine-controller") (eq $o.kind "ServiceMonitor") (not $v.provider.enabled) -}}
{{- else if and (eq $program "machineset-controller") (has $o.kind (list "Deployment" "PodDisruptionBudget" "Service" "ServiceMonitor")) (not $openshift) -}}
{{- else if and (eq $o.kind "Service") (ne $program "machine-ui") (not $v.metrics.enabled) -}}
{{- else if and (eq $o.kind "NetworkPolicy") (not $v.networkPolicy.enabled) -}}
{{- else }}true{{ end -}}
{{- end }}

{{/* A manifest as the values want it. */}}
{{- define "millwright.changed" -}}
{{- $o := .object -}}
{{- $v := .root.Values -}}
{{- if eq $o.kind "Deployment" -}}
  {{- $of := get $v (get (dict "machine-controller-manager" "machineControllerManager" "machineset-controller" "machinesetController" "machine-controller-kubemark" "kubemark" "machine-controller" "provider" "machine-ui" "ui" "control-plane-machine-set-operator" "controlPlaneMachineSet") $o.metadata.name) -}}
  {{- include "millwright.deployment" (dict "object" $o "root" .root "of" $of) -}}
{{- else if and (eq $o.kind "CustomResourceDefinition") $v.crds.keep -}}
  {{- $_ := set $o.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") ($o.metadata.annotations | default dict)) -}}
{{- else if and (hasSuffix "WebhookConfiguration" $o.kind) (eq $v.webhooks.certificate "cert-manager") (ne $o.metadata.name "controlplanemachineset.machine.openshift.io") -}}
  {{- $_ := set $o.metadata "annotations" (merge (dict "cert-manager.io/inject-ca-from" (printf "%s/machine-api-operator-webhook" .root.Release.Namespace)) ($o.metadata.annotations | default dict)) -}}
{{- else if and (eq $o.kind "ServiceAccount") (eq $o.metadata.name "machine-controller") $v.provider.enabled -}}
  {{- with $v.provider.serviceAccount.annotations }}{{ $_ := set $o.metadata "annotations" . }}{{ end -}}
{{- else if and (eq $o.kind "Certificate") (eq $o.metadata.name "machine-ui") -}}
  {{- $_ := set $o.spec "dnsNames" (concat $o.spec.dnsNames $v.ui.hostNames) -}}
{{- else if eq $o.kind "PersistentVolumeClaim" -}}
  {{- $_ := set $o.spec.resources.requests "storage" $v.kubemark.storage.size -}}
  {{- with $v.kubemark.storage.className }}{{ $_ := set $o.spec "storageClassName" . }}{{ end -}}
{{- end -}}
{{- toYaml $o -}}
{{- end }}

{{/* Changes a Deployment, by the values .of its program. */}}
{{- define "millwright.deployment" -}}
{{- $v := .root.Values -}}
{{- $of := .of -}}
{{- $name := .object.metadata.name -}}
{{- $pod := .object.spec.template.spec -}}
{{- $c := first $pod.containers -}}
{{- if hasKey $of "replicas" }}{{ $_ := set .object.spec "replicas" $of.replicas }}{{ end -}}
{{- $_ := set $c "image" (include "millwright.image" (dict "image" (get $of "image" | default $v.image) "root" .root)) -}}
{{- with $v.image.pullPolicy }}{{ $_ := set $c "imagePullPolicy" . }}{{ end -}}
{{- range $v.image.pullSecrets }}{{ $_ := set $pod "imagePullSecrets" (append ($pod.imagePullSecrets | default list) (dict "name" .)) }}{{ end -}}
{{- with $of.resources }}{{ $_ := set $c "resources" . }}{{ end -}}
{{- with $of.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end -}}
{{- $_ := set $pod "tolerations" (concat $pod.tolerations $of.tolerations) -}}
{{- range $field := list "affinity" "topologySpreadConstraints" "priorityClassName" }}{{ with get $of $field }}{{ $_ := set $pod $field . }}{{ end }}{{ end -}}
{{- with $of.extraVolumes }}{{ $_ := set $pod "volumes" (concat ($pod.volumes | default list) .) }}{{ end -}}
{{- with $of.extraVolumeMounts }}{{ $_ := set $c "volumeMounts" (concat ($c.volumeMounts | default list) .) }}{{ end -}}
{{- $args := list -}}
{{- range $c.args -}}
  {{- if and (hasPrefix "--apis=" .) (ne $name "machineset-controller") }}{{ $args = append $args (printf "--apis=%s" (join "," (sortAlpha $v.apis))) -}}
  {{- else if hasPrefix "--v=" . }}{{ $args = append $args (printf "--v=%d" (int $of.logLevel)) -}}
  {{- else if not (and (hasPrefix "--metrics-secure" .) (not $v.metrics.enabled)) }}{{ $args = append $args . }}{{ end -}}
{{- end -}}
{{- if eq $name "machine-ui" }}{{ $args = concat $args (splitList "\n" (include "millwright.ui" .root | trim)) }}{{ end -}}
{{- if and (ne $name "machine-ui") (not $v.metrics.enabled) }}{{ $args = append $args "--metrics-bind-address=0" }}{{ end -}}
{{- if and (eq $name "control-plane-machine-set-operator") (not $v.webhooks.enabled) }}{{ $args = append $args "--webhook-port=0" }}{{ end -}}
{{- if and (eq $name "machineset-controller") (not $v.webhooks.enabled) }}{{ $args = append $args "--webhook-enabled=false" }}{{ end -}}
{{- with ternary "" $v.target.kubeconfigSecret (eq $name "machine-ui") -}}
  {{- $args = concat $args (list "--control-kubeconfig=inClusterConfig" (printf "--target-kubeconfig=/etc/millwright/target/%s" $v.target.key)) -}}
  {{- $_ := set $pod "volumes" (append ($pod.volumes | default list) (dict "name" "target" "secret" (dict "secretName" .))) -}}
  {{- $_ := set $c "volumeMounts" (append ($c.volumeMounts | default list) (dict "name" "target" "mountPath" "/etc/millwright/target" "readOnly" true)) -}}
{{- end -}}
{{- $_ := set $c "args" (concat $args $of.args) -}}
{{- if eq $name "machine-controller" }}{{ include "millwright.identity" (dict "template" .object.spec.template "of" $of) }}{{ end -}}
{{- end }}

{{/* Arguments of the page, one on a line. */}}
{{- define "millwright.ui" -}}
--max-users={{ int .Values.ui.maxUsers }}
--allow-actions={{ .Values.ui.allowActions }}
{{- with .Values.ui.hostNames }}
--host-names={{ join "," . }}
{{- end }}
{{- with .Values.ui.clusterName }}
--cluster-name={{ . }}
{{- end }}
{{- if .Values.target.kubeconfigSecret }}
--nodes=false
{{- end }}
{{- end }}

{{/* Gives pods of a .template what a cloud knows them by, by the values .of their program. The file is where secrets that were made for OpenShift have it. */}}
{{- define "millwright.identity" -}}
{{- $pod := .template.spec -}}
{{- $c := first $pod.containers -}}
{{- $_ := set .template.metadata "labels" (merge .template.metadata.labels .of.podLabels) -}}
{{- with .of.env }}{{ $_ := set $c "env" . }}{{ end -}}
{{- with .of.tokenAudience -}}
  {{- $token := dict "serviceAccountToken" (dict "audience" . "expirationSeconds" 3600 "path" "token") -}}
  {{- $_ := set $pod "volumes" (append ($pod.volumes | default list) (dict "name" "token" "projected" (dict "sources" (list $token)))) -}}
  {{- $_ := set $c "volumeMounts" (append ($c.volumeMounts | default list) (dict "name" "token" "mountPath" "/var/run/secrets/openshift/serviceaccount" "readOnly" true)) -}}
{{- end -}}
{{- end }}

{{/* The manifests of .file, in the release's namespace, which replaces .namespace. */}}
{{- define "millwright.manifests" -}}
{{- $root := .root -}}
{{- range splitList "\n---\n" ($root.Files.Get .file | replace .namespace $root.Release.Namespace) }}
{{- $o := fromYaml . }}
{{- if hasKey $o "Error" }}{{ fail $o.Error }}{{ end }}
{{- if include "millwright.wanted" (dict "object" $o "root" $root) }}
---
{{ include "millwright.changed" (dict "object" $o "root" $root) }}
{{- end }}
{{- end }}
{{- end }}
