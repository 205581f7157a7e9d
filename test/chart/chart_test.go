package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{NoCRDs: true})) }

const namespace = "millwright-system"

var root = filepath.Join("..", "..")

// packaged returns the path of a file or folder of the packages.
func packaged(t *testing.T, name string) string {
	t.Helper()
	return devplanetest.Packages(t, root, name)
}

func loaded(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(packaged(t, "charts/millwright"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// values reads values as from a file.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := sigsyaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// render runs helm template in a namespace.
func render(t *testing.T, in, text string) (*release.Release, error) {
	t.Helper()
	i := action.NewInstall(&action.Configuration{Log: t.Logf})
	i.ReleaseName, i.Namespace, i.ClientOnly, i.DryRun = "millwright", in, true, true
	i.KubeVersion = &chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	return i.Run(loaded(t), values(t, text))
}

// objects returns the manifests by kind, namespace and name.
func objects(t *testing.T, manifests []byte) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
		if out[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		out[key] = o.Object
	}
}

func rendered(t *testing.T, in, text string) map[string]map[string]any {
	t.Helper()
	r, err := render(t, in, text)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, []byte(r.Manifest))
}

func kustomized(t *testing.T, overlay string) map[string]map[string]any {
	t.Helper()
	path, err := devplanetest.Start(t).Assets.Path(devplane.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "kustomize", filepath.Join(root, filepath.FromSlash(overlay))).Output()
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, out)
}

// TestSameAsPackages: without values, and with values that correspond to an overlay, the chart equals the build of config/,
// except for the namespace, which Helm creates.
func TestSameAsPackages(t *testing.T) {
	one, err := os.ReadFile(packaged(t, "millwright.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason, values string
		want           map[string]map[string]any
	}{
		{"the one file", "{crds: {keep: false}}", objects(t, one)},
		{"one API", "{crds: {keep: false}, apis: [machine.openshift.io]}", kustomized(t, "config/overlays/machine-openshift-io")},
		{"the other", "{crds: {keep: false}, apis: [machine.sapcloud.io]}", kustomized(t, "config/overlays/machine-sapcloud-io")},
		{"a cloud", "{crds: {keep: false}, provider: {enabled: true}}", kustomized(t, "config/overlays/cloud")},
		{"another cluster", "{crds: {keep: false}, target: {kubeconfigSecret: millwright-target-kubeconfig}}", kustomized(t, "config/overlays/target")},
	} {
		delete(c.want, "Namespace /"+namespace)
		if diff := cmp.Diff(c.want, rendered(t, namespace, c.values)); diff != "" {
			t.Errorf("%s (-config +chart):\n%s", c.reason, diff)
		}
	}
	kept := 0
	for key, o := range rendered(t, namespace, "{}") {
		if strings.HasPrefix(key, "CustomResourceDefinition ") && (&unstructured.Unstructured{Object: o}).GetAnnotations()["helm.sh/resource-policy"] == "keep" {
			kept++
		}
	}
	if kept != 10 {
		t.Errorf("%d CRDs stay when the chart is uninstalled, want all 10", kept)
	}
}

// container returns the only container of a Deployment.
func container(t *testing.T, all map[string]map[string]any, in, name string) (deployment, pod, first map[string]any) {
	t.Helper()
	deployment = all["Deployment "+in+"/"+name]
	if deployment == nil {
		t.Fatalf("there is no Deployment %s", name)
	}
	pod, _, err := unstructured.NestedMap(deployment, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	return deployment, pod, pod["containers"].([]any)[0].(map[string]any)
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		reason, values string
		there, gone    []string
		args, noArgs   []string // of machineset-controller
		image          string
	}{
		{reason: "no webhooks", values: "{webhooks: {enabled: false}}", gone: []string{"ValidatingWebhookConfiguration /machine-api", "Service x/machine-api-operator-webhook"}, args: []string{"--webhook-enabled=false"}},
		{reason: "cert-manager", values: "{webhooks: {certificate: cert-manager}}", there: []string{"Certificate x/machine-api-operator-webhook", "Issuer x/machine-api-operator-webhook"}},
		{reason: "no certificate where there is no webhook", values: "{webhooks: {certificate: cert-manager, enabled: false}}", gone: []string{"Certificate x/machine-api-operator-webhook"}},
		{reason: "monitoring", values: "{monitoring: {serviceMonitors: true, rules: true, dashboards: true}}", there: []string{"ServiceMonitor x/machineset-controller", "PrometheusRule x/millwright-prometheus-rules", "ConfigMap x/millwright-dashboard-fleet"}},
		{reason: "no monitoring", values: "{}", gone: []string{"ServiceMonitor x/machineset-controller", "ConfigMap x/millwright-dashboard-fleet", "ClusterRoleBinding /millwright-metrics-reader"}},
		{reason: "no monitor of what does not run", values: "{monitoring: {serviceMonitors: true}, kubemark: {enabled: false}}", gone: []string{"ServiceMonitor x/machine-controller-kubemark", "Deployment x/machine-controller-kubemark", "PersistentVolumeClaim x/machine-controller-kubemark", "ClusterRole /machine-controller-kubemark"}},
		{reason: "one provider", values: "{provider: {enabled: true}, monitoring: {serviceMonitors: true}}", there: []string{"Deployment x/machine-controller", "ServiceMonitor x/machine-controller", "PodDisruptionBudget x/machine-controller"}, gone: []string{"Deployment x/machine-controller-kubemark", "PersistentVolumeClaim x/machine-controller-kubemark", "ServiceMonitor x/machine-controller-kubemark"}},
		{reason: "no cloud", values: "{monitoring: {serviceMonitors: true}}", gone: []string{"ServiceMonitor x/machine-controller", "ClusterRole /machine-controller-cloud"}},
		{reason: "no metrics of a cloud", values: "{provider: {enabled: true}, metrics: {enabled: false}}", gone: []string{"Service x/machine-controller-metrics"}, args: []string{"--metrics-bind-address=0"}},
		{reason: "no metrics", values: "{metrics: {enabled: false}}", gone: []string{"Service x/machineset-controller-metrics"}, args: []string{"--metrics-bind-address=0"}, noArgs: []string{"--metrics-secure=true"}},
		{reason: "readers", values: "{metrics: {readers: [{name: prometheus, namespace: monitoring}]}}", there: []string{"ClusterRoleBinding /millwright-metrics-reader"}},
		{reason: "no network policies", values: "{networkPolicy: {enabled: false}}", gone: []string{"NetworkPolicy x/millwright-deny"}},
		{reason: "disruption budgets", values: "{disruptionBudgets: {enabled: true}}", there: []string{"CustomResourceDefinition /machinedisruptionbudgets.millwright.dev", "ClusterRoleBinding /millwright-disruption-budgets", "RoleBinding x/millwright-disruption-budgets"}},
		{reason: "no disruption budgets", values: "{}", gone: []string{"CustomResourceDefinition /machinedisruptionbudgets.millwright.dev", "ClusterRole /millwright-disruption-budgets"}},
		{
			reason: "control plane machine sets", values: "{controlPlaneMachineSet: {enabled: true, logLevel: 4}, webhooks: {certificate: cert-manager}, metrics: {enabled: false}}",
			there: []string{
				"CustomResourceDefinition /controlplanemachinesets.machine.openshift.io", "Deployment x/control-plane-machine-set-operator", "Service x/control-plane-machine-set-operator-webhook",
				"ValidatingWebhookConfiguration /controlplanemachineset.machine.openshift.io", "Role x/control-plane-machine-set-operator", "ClusterRoleBinding /control-plane-machine-set-operator",
			},
			gone: []string{"Service x/control-plane-machine-set-operator-metrics"},
		},
		{reason: "control plane machine sets without webhooks", values: "{controlPlaneMachineSet: {enabled: true}, webhooks: {enabled: false}}", there: []string{"Deployment x/control-plane-machine-set-operator"}, gone: []string{"ValidatingWebhookConfiguration /controlplanemachineset.machine.openshift.io", "Service x/control-plane-machine-set-operator-webhook"}},
		{reason: "no control plane machine sets", values: "{}", gone: []string{"CustomResourceDefinition /controlplanemachinesets.machine.openshift.io", "Deployment x/control-plane-machine-set-operator"}},
		{reason: "the page", values: "{ui: {enabled: true}, metrics: {enabled: false}}", there: []string{"Deployment x/machine-ui", "Service x/machine-ui", "ServiceAccount x/machine-ui", "NetworkPolicy x/machine-ui"}, gone: []string{"Certificate x/machine-ui", "ClusterRole /machine-ui", "Role x/machine-ui"}},
		{reason: "the page with cert-manager", values: "{ui: {enabled: true, certificate: cert-manager}, networkPolicy: {enabled: false}}", there: []string{"Certificate x/machine-ui", "Issuer x/machine-ui"}, gone: []string{"NetworkPolicy x/machine-ui"}},
		{reason: "no page", values: "{ui: {certificate: cert-manager}}", gone: []string{"Deployment x/machine-ui", "Service x/machine-ui", "ServiceAccount x/machine-ui", "Certificate x/machine-ui"}},
		{reason: "no CRDs", values: "{crds: {install: false}}", gone: []string{"CustomResourceDefinition /machines.machine.openshift.io"}},
		{reason: "image by tag", values: "{image: {repository: r.example/m, tag: v1}}", image: "r.example/m:v1"},
		{reason: "image by digest", values: "{image: {tag: v1, digest: 'sha256:" + strings.Repeat("0", 64) + "'}}", image: "millwright-controllers@sha256:" + strings.Repeat("0", 64)},
		{reason: "log level and arguments of one's own, which come last", values: "{machinesetController: {logLevel: 4, args: [--leader-elect=false]}}", args: []string{"--v=4", "--namespace=x", "--leader-elect=false"}, noArgs: []string{"--v=2"}},
	} {
		all := rendered(t, "x", c.values)
		for _, key := range c.there {
			if all[key] == nil {
				t.Errorf("%s: there is no %s", c.reason, key)
			}
		}
		for _, key := range c.gone {
			if all[key] != nil {
				t.Errorf("%s: there is %s", c.reason, key)
			}
		}
		_, _, first := container(t, all, "x", "machineset-controller")
		args, _, err := unstructured.NestedStringSlice(first, "args")
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range c.args {
			if !slices.Contains(args, arg) {
				t.Errorf("%s: %q has no %s", c.reason, args, arg)
			}
		}
		for _, arg := range c.noArgs {
			if slices.Contains(args, arg) {
				t.Errorf("%s: %q has %s", c.reason, args, arg)
			}
		}
		if c.image != "" && first["image"] != c.image {
			t.Errorf("%s: %v, want %s", c.reason, first["image"], c.image)
		}
		for key, o := range all {
			if text := fmt.Sprint(o); strings.Contains(text, namespace) {
				t.Errorf("%s: %s is about %s, and the release is in another namespace", c.reason, key, namespace)
			}
		}
	}
}

// last returns the last element of a list, or nil.
func last(list any) any {
	if all, _ := list.([]any); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

func TestPods(t *testing.T) {
	all := rendered(t, "x", `
image: {pullPolicy: Always, pullSecrets: [a, b]}
machineControllerManager:
  replicas: 3
  resources: {requests: {cpu: 1, memory: 1Gi}}
  nodeSelector: {a: b}
  tolerations: [{key: k, operator: Exists}]
  affinity: {nodeAffinity: {}}
  topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]
  priorityClassName: high
  extraVolumes: [{name: ca, configMap: {name: ca}}]
  extraVolumeMounts: [{name: ca, mountPath: /etc/ca}]
`)
	d, pod, first := container(t, all, "x", "machine-controller-manager")
	tolerations := pod["tolerations"].([]any)
	for _, row := range []struct {
		what      string
		got, want any
	}{
		{"replicas", d["spec"].(map[string]any)["replicas"], float64(3)},
		{"policy", first["imagePullPolicy"], "Always"},
		{"secrets", pod["imagePullSecrets"], []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}},
		{"resources", first["resources"], map[string]any{"requests": map[string]any{"cpu": float64(1), "memory": "1Gi"}}},
		{"nodes", pod["nodeSelector"], map[string]any{"a": "b"}},
		{"tolerations are added", len(tolerations), 3},
		{"affinity", pod["affinity"], map[string]any{"nodeAffinity": map[string]any{}}},
		{"spread", pod["topologySpreadConstraints"], []any{map[string]any{"maxSkew": float64(2), "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}}},
		{"priority", pod["priorityClassName"], "high"},
		{"volumes", last(pod["volumes"]), map[string]any{"name": "ca", "configMap": map[string]any{"name": "ca"}}},
		{"mounts", last(first["volumeMounts"]), map[string]any{"name": "ca", "mountPath": "/etc/ca"}},
		{"the last is the user's", tolerations[len(tolerations)-1], map[string]any{"key": "k", "operator": "Exists"}},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.what, diff)
		}
	}
	_, other, _ := container(t, all, "x", "machineset-controller")
	if other["nodeSelector"] != nil {
		t.Errorf("another program has %v, too", other["nodeSelector"])
	}
}

// TestProvider: the machine controller of a cloud has its own image. The cloud knows it by its service account, its pods and
// its token.
func TestProvider(t *testing.T) {
	all := rendered(t, "x", `
image: {tag: v1, pullPolicy: Always}
apis: [machine.openshift.io]
target: {kubeconfigSecret: there}
provider:
  enabled: true
  image: {repository: r.example/aws, tag: v2}
  replicas: 1
  logLevel: 4
  args: [--aws-endpoint=https://ec2.example]
  env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}, {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]
  serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/m"}}
  podLabels: {azure.workload.identity/use: "true", app.kubernetes.io/name: other}
  tokenAudience: sts.amazonaws.com
`)
	d, pod, first := container(t, all, "x", "machine-controller")
	labels, _, err := unstructured.NestedStringMap(d, "spec", "template", "metadata", "labels")
	if err != nil {
		t.Fatal(err)
	}
	account := &unstructured.Unstructured{Object: all["ServiceAccount x/machine-controller"]}
	_, other, manager := container(t, all, "x", "machine-controller-manager")
	for _, row := range []struct {
		what      string
		got, want any
	}{
		{"image", first["image"], "r.example/aws:v2"},
		{"image of the others", manager["image"], "millwright-controllers:v1"},
		{"policy", first["imagePullPolicy"], "Always"},
		{"replicas", d["spec"].(map[string]any)["replicas"], float64(1)},
		{"arguments", first["args"], []any{
			"--apis=machine.openshift.io", "--namespace=x", "--leader-elect=true", "--metrics-secure=true", "--health-addr=:9440", "--v=4",
			"--control-kubeconfig=inClusterConfig", "--target-kubeconfig=/etc/millwright/target/kubeconfig", "--aws-endpoint=https://ec2.example",
		}},
		{"environment", first["env"], []any{
			map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
			map[string]any{"name": "TOKEN", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s", "key": "k"}}},
		}},
		{"labels that select pods stay", labels, map[string]string{"app.kubernetes.io/name": "machine-controller", "app.kubernetes.io/part-of": "millwright", "azure.workload.identity/use": "true"}},
		{"account", account.GetAnnotations(), map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/m"}},
		{"token", pod["volumes"].([]any)[1], map[string]any{"name": "token", "projected": map[string]any{"sources": []any{map[string]any{
			"serviceAccountToken": map[string]any{"audience": "sts.amazonaws.com", "expirationSeconds": float64(3600), "path": "token"},
		}}}}},
		{"its place", first["volumeMounts"].([]any)[1], map[string]any{"name": "token", "mountPath": "/var/run/secrets/openshift/serviceaccount", "readOnly": true}},
		{"another program has no token", len(other["volumes"].([]any)), 1},
		{"another program has no variables", manager["env"], nil},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.what, diff)
		}
	}
}

// TestPage: the page has no right, no token and no configuration of the controllers. It equals config/ui but for the values.
func TestPage(t *testing.T) {
	want := kustomized(t, "config/ui")
	all := rendered(t, namespace, "{ui: {enabled: true}}")
	for key := range want {
		_, pod, first := container(t, all, namespace, "machine-ui")
		if key == "Deployment "+namespace+"/machine-ui" {
			first["args"] = first["args"].([]any)[:3]
			all[key]["spec"].(map[string]any)["template"].(map[string]any)["spec"] = pod
		}
		if diff := cmp.Diff(want[key], all[key]); diff != "" {
			t.Errorf("%s (-config +chart):\n%s", key, diff)
		}
	}
	all = rendered(t, "x", `
target: {kubeconfigSecret: there}
metrics: {enabled: false}
ui: {enabled: true, certificate: cert-manager, hostNames: [a.example, b.example], clusterName: blue, allowActions: true, maxUsers: 5, replicas: 2, args: [--v=4]}
`)
	d, pod, first := container(t, all, "x", "machine-ui")
	certificate, _, err := unstructured.NestedStringSlice(all["Certificate x/machine-ui"], "spec", "dnsNames")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		what      string
		got, want any
	}{
		{"arguments", first["args"], []any{
			"--namespace=x", "--host-names=machine-ui.x.svc", "--v=2", "--max-users=5", "--allow-actions=true", "--host-names=a.example,b.example", "--cluster-name=blue", "--nodes=false", "--v=4",
		}},
		{"replicas", d["spec"].(map[string]any)["replicas"], float64(2)},
		{"no token", pod["automountServiceAccountToken"], false},
		{"volumes without the kubeconfig of the target", len(pod["volumes"].([]any)), 2},
		{"names in the certificate", certificate, []string{"machine-ui.x.svc", "a.example", "b.example"}},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.what, diff)
		}
	}
	for key, o := range all {
		for _, subject := range subjects(o) {
			if subject == "machine-ui" {
				t.Errorf("%s gives the page a right", key)
			}
		}
	}
}

// subjects are the names that a binding is for.
func subjects(o map[string]any) (out []any) {
	list, _ := o["subjects"].([]any)
	for _, s := range list {
		out = append(out, s.(map[string]any)["name"])
	}
	return out
}

// TestBadValues: each error names the field.
func TestBadValues(t *testing.T) {
	for _, c := range []struct{ values, field string }{
		{"{apis: []}", "/apis"},
		{"{apis: [machine.openshift.io/v1beta1]}", "/apis/0"},
		{"{api: [machine.openshift.io]}", "'api'"},
		{"{image: {tag: 1}}", "/image/tag"},
		{"{image: {digest: sha256:0}}", "/image/digest"},
		{"{image: {pullPolicy: Sometimes}}", "/image/pullPolicy"},
		{"{machineControllerManager: {replicas: two}}", "/machineControllerManager/replicas"},
		{"{machineControllerManager: {replicas: -1}}", "/machineControllerManager/replicas"},
		{"{machineControllerManager: {replica: 1}}", "/machineControllerManager"},
		{"{machinesetController: {tolerations: {}}}", "/machinesetController/tolerations"},
		{"{machinesetController: {resources: {request: {}}}}", "/machinesetController/resources"},
		{"{machinesetController: {args: [leader-elect]}}", "/machinesetController/args/0"},
		{"{machinesetController: {topologySpreadConstraints: [{topologyKey: rack}]}}", "/machinesetController/topologySpreadConstraints/0"},
		{"{provider: {affinity: {nodes: {}}}}", "/provider/affinity"},
		{"{provider: {extraVolumeMounts: [{name: ca}]}}", "/provider/extraVolumeMounts/0"},
		{"{kubemark: {replicas: 2}}", "/kubemark"},
		{"{provider: {image: {digest: x}}}", "/provider/image/digest"},
		{"{provider: {env: [{value: a}]}}", "/provider/env/0"},
		{"{provider: {env: [{name: A, value: 1}]}}", "/provider/env/0/value"},
		{"{provider: {podLabels: {a: true}}}", "/provider/podLabels/a"},
		{"{provider: {serviceAccount: {annotation: {}}}}", "/provider/serviceAccount"},
		{"{kubemark: {storage: {size: big}}}", "/kubemark/storage/size"},
		{"{target: {kubeconfigSecret: A_B}}", "/target/kubeconfigSecret"},
		{"{target: {key: ''}}", "/target/key"},
		{"{webhooks: {certificate: mine}}", "/webhooks/certificate"},
		{"{ui: {certificate: own}}", "/ui/certificate"},
		{"{ui: {hostNames: ['https://a.example']}}", "/ui/hostNames/0"},
		{"{ui: {maxUsers: 0}}", "/ui/maxUsers"},
		{"{ui: {clusterName: \"a\\n--allow-actions\"}}", "/ui/clusterName"},
		{"{webhooks: {enabled: 'no'}}", "/webhooks/enabled"},
		{"{metrics: {readers: [{name: a}]}}", "/metrics/readers/0"},
		{"{monitoring: {serviceMonitors: true}, metrics: {enabled: false}}", "monitoring.serviceMonitors"},
	} {
		if _, err := render(t, namespace, c.values); err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: error %v, want one that names %s", c.values, err, c.field)
		}
	}
}

// TestEveryValueIsInTheSchema: and each field of the schema has a default, so that values.yaml shows all fields.
func TestEveryValueIsInTheSchema(t *testing.T) {
	c := loaded(t)
	var schema map[string]any
	if err := sigsyaml.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, schema, values map[string]any)
	walk = func(path string, schema, values map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			v, has := values[name]
			if !has && path+name != "global" {
				t.Errorf("values.yaml leaves out %s", path+name)
			}
			if below, is := v.(map[string]any); is && len(below) > 0 {
				walk(path+name+".", p.(map[string]any), below)
			}
		}
	}
	walk("", schema, c.Values)
}

// TestNotes: the notes after an installation fit 80 columns, and show the values of the user.
func TestNotes(t *testing.T) {
	for text, want := range map[string]string{
		"{}": "Instances are simulated", "{apis: [machine.sapcloud.io]}": "namespace millwright-system as declared", "{kubemark: {enabled: false}}": "There is no provider",
		"{provider: {enabled: true}}": "rollout status deployment/machine-controller\n", "{crds: {keep: false}}": "CRDs go with it",
		"{target: {kubeconfigSecret: there}}": "create secret generic there", "{ui: {enabled: true}}": "create secret tls machine-ui-cert", "{ui: {enabled: true, certificate: cert-manager}}": "kubectl create token NAME",
	} {
		r, err := render(t, namespace, text)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Info.Notes, want) {
			t.Errorf("%s: no %q in\n%s", text, want, r.Info.Notes)
		}
		for line := range strings.SplitSeq(r.Info.Notes, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: %d columns: %s", text, len(line), line)
			}
		}
	}
}
