package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// released returns the objects in install/ by "kind namespace/name", and these keys by file. The keys omit the
// namespace openshift-machine-api.
func released(t *testing.T) (all map[string]*unstructured.Unstructured, byFile map[string][]string) {
	t.Helper()
	all, byFile = map[string]*unstructured.Unstructured{}, map[string][]string{}
	for file, text := range read(t, packaged(t, "install")) {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		for _, o := range objects(t, []byte(text)) {
			name := o.GetName()
			if ns := o.GetNamespace(); ns != "" && ns != "openshift-machine-api" {
				name = ns + "/" + name
			}
			key := o.GetKind() + " " + name
			all[key] = o
			short := strings.Replace(strings.TrimPrefix(strings.TrimSuffix(file, ".yaml"), "0000_"), "_machine-api-operator_", " ", 1)
			byFile[short] = append(byFile[short], key)
		}
	}
	return all, byFile
}

// TestReleaseFiles: section 7.8, the objects in each file. The names of the files have the order of the installation.
func TestReleaseFiles(t *testing.T) {
	named := func(kind string, names ...string) (out []string) {
		for _, n := range names {
			out = append(out, kind+" "+n)
		}
		return out
	}
	const operator, controllers, provider, handler = "machine-api-operator", "machine-api-controllers", "machine-api-controllers-provider", "machine-api-termination-handler"
	of := func(prefix string, groups ...string) (out []string) {
		for _, g := range groups {
			out = append(out, prefix+g)
		}
		return out
	}
	elsewhere := of("", "kube-system/"+controllers, "openshift-config/"+controllers, "openshift-config-managed/"+controllers)
	roles := slices.Concat(elsewhere, []string{controllers, provider, operator, "prometheus-k8s-machine-api-operator"})
	want := map[string][]string{
		"30 00_credentials-request": named("CredentialsRequest", of("openshift-cloud-credential-operator/openshift-machine-api-", "aws", "azure", "gcp", "ibmcloud", "nutanix", "openstack", "powervs", "vsphere")...),
		"30 00_namespace":           named("Namespace", "openshift-machine-api"),
		"30 01_images.configmap":    named("ConfigMap", "machine-api-operator-images"), "30 01_trusted-ca-configmap": named("ConfigMap", "mao-trusted-ca"),
		"30 02_machine.crd": named("CustomResourceDefinition", "machines.machine.openshift.io"), "30 03_machineset.crd": named("CustomResourceDefinition", "machinesets.machine.openshift.io"),
		"30 04_machinedeployment.crd": named("CustomResourceDefinition", "machinedeployments.machine.openshift.io"), "30 05_cluster.crd": named("CustomResourceDefinition", "clusters.machine.openshift.io"),
		"30 07_machinehealthcheck.crd": named("CustomResourceDefinition", "machinehealthchecks.machine.openshift.io"),
		"30 08_webhook_service":        named("Service", "machine-api-operator-webhook"), "30 08_machine_webhook_service": named("Service", "machine-api-operator-machine-webhook"),
		"30 09_rbac": slices.Concat(
			named("ServiceAccount", operator, controllers, handler), named("Role", roles...), named("RoleBinding", append(roles, "machine-api-operator-ext-remediation")...),
			named("ClusterRole", operator, controllers, provider, "machine-api-operator-ext-remediation", "machine-api-operator:cluster-reader"), named("ClusterRoleBinding", operator, controllers, provider),
		),
		"30 09_security_context_constraint": named("SecurityContextConstraints", handler),
		"30 10_kube-rbac-proxy-config":      named("ConfigMap", "kube-rbac-proxy"), "30 10_service": named("Service", operator, controllers),
		"30 11_deployment": named("Deployment", operator), "30 12_clusteroperator": named("ClusterOperator", "machine-api"), "30 13_machinehealthcheck": named("MachineHealthCheck", handler),
		"90 03_servicemonitor": named("ServiceMonitor", operator, controllers),
		"90 04_alertrules":     named("PrometheusRule", "machine-api-operator-prometheus-rules", "millwright-prometheus-rules"),
	}
	for _, name := range []string{"allow-egress", "allow-ingress-cluster", "allow-ingress-kubeapi", "allow-ingress-metal", "allow-ingress-metrics", "default-deny"} {
		want["90 05_networkpolicy-"+name] = named("NetworkPolicy", name)
	}
	_, got := released(t)
	for _, list := range []map[string][]string{want, got} {
		for file := range list {
			slices.Sort(list[file])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// at returns the value of an object at a path, or nil. Each step is a key of a map or an index of a list. In a key, ~
// stands for a slash.
func at(o *unstructured.Unstructured, path string) any {
	var v any = o.Object
	for step := range strings.SplitSeq(path, "/") {
		switch in := v.(type) {
		case map[string]any:
			v = in[strings.ReplaceAll(step, "~", "/")]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// TestReleaseContent: section 7.8, the values in the manifests on which other components depend.
func TestReleaseContent(t *testing.T) {
	all, _ := released(t)
	const served = "metadata/annotations/service.beta.openshift.io~serving-cert-secret-name"
	away := func(reason string) any {
		return map[string]any{"effect": "NoExecute", "key": "node.kubernetes.io/" + reason, "operator": "Exists", "tolerationSeconds": float64(120)}
	}
	for _, row := range []struct {
		object, path string
		want         any
	}{
		{"Namespace openshift-machine-api", "metadata/labels/openshift.io~cluster-monitoring", "true"},
		{"Namespace openshift-machine-api", "metadata/labels/openshift.io~run-level", ""},
		{"Namespace openshift-machine-api", "metadata/labels/pod-security.kubernetes.io~enforce", "privileged"},
		{"ConfigMap mao-trusted-ca", "metadata/labels/config.openshift.io~inject-trusted-cabundle", "true"},
		{"Service machine-api-operator-webhook", "spec/ports/0/port", float64(443)},
		{"Service machine-api-operator-webhook", "spec/ports/0/targetPort", "webhook-server"},
		{"Service machine-api-operator-webhook", served, "machine-api-operator-webhook-cert"},
		{"Service machine-api-operator-machine-webhook", "spec/ports/0/port", float64(443)},
		{"Service machine-api-operator-machine-webhook", "spec/ports/0/targetPort", "machine-webhook"},
		{"Service machine-api-operator-machine-webhook", served, "machine-api-operator-machine-webhook-cert"},
		{"Service machine-api-operator", "spec/ports/0/port", float64(8443)},
		{"Service machine-api-controllers", "spec/ports/0/port", float64(8441)},
		{"Service machine-api-controllers", "spec/ports/1/port", float64(8442)},
		{"Service machine-api-controllers", "spec/ports/2/port", float64(8444)},
		{"Service machine-api-controllers", served, "machine-api-controllers-tls"},
		{"SecurityContextConstraints machine-api-termination-handler", "allowHostNetwork", true},
		{"Deployment machine-api-operator", "spec/template/spec/containers/0/resources", map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "50Mi"}}},
		{"Deployment machine-api-operator", "spec/template/spec/containers/0/volumeMounts/0/mountPath", "/etc/machine-api-operator-config/images"},
		{"Deployment machine-api-operator", "spec/template/spec/volumes/0/configMap/name", "machine-api-operator-images"},
		{"Deployment machine-api-operator", "spec/template/spec/tolerations/1", away("unreachable")},
		{"Deployment machine-api-operator", "spec/template/spec/tolerations/2", away("not-ready")},
		{"ServiceMonitor machine-api-operator", "spec/endpoints/0/interval", "30s"},
		{"ServiceMonitor machine-api-controllers", "spec/endpoints/2/interval", "30s"},
		{"NetworkPolicy default-deny", "spec/policyTypes", []any{"Ingress", "Egress"}},
		{"NetworkPolicy default-deny", "spec/podSelector", map[string]any{}},
		{"NetworkPolicy allow-egress", "spec/egress", []any{map[string]any{}}},
	} {
		o := all[row.object]
		if o == nil {
			t.Errorf("install/ lacks %s", row.object)
			continue
		}
		if diff := cmp.Diff(row.want, at(o, row.path)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", row.object, row.path, diff)
		}
	}
	rules := at(all["ConfigMap kube-rbac-proxy"], "data/config-file.yaml")
	if text := fmt.Sprint(rules); !strings.Contains(text, "resource: namespace\n") || !strings.Contains(text, "subresource: metrics\n") || !strings.Contains(text, "namespace: openshift-machine-api\n") {
		t.Errorf("the proxies check the rights %v", rules)
	}
}

// TestReleaseCredentials: section 7.8, the secret with the credentials of each cloud.
func TestReleaseCredentials(t *testing.T) {
	all, _ := released(t)
	got := map[string]string{}
	for key, o := range all {
		if cloud, ok := strings.CutPrefix(key, "CredentialsRequest openshift-cloud-credential-operator/openshift-machine-api-"); ok {
			got[cloud] = fmt.Sprintf("%v/%v for %v", at(o, "spec/secretRef/namespace"), at(o, "spec/secretRef/name"), at(o, "spec/serviceAccountNames"))
		}
	}
	want := map[string]string{}
	for cloud, secret := range map[string]string{
		"aws": "aws-cloud-credentials", "azure": "azure-cloud-credentials", "gcp": "gcp-cloud-credentials", "openstack": "openstack-cloud-credentials", "vsphere": "vsphere-cloud-credentials",
		"ibmcloud": "ibmcloud-credentials", "powervs": "powervs-credentials", "nutanix": "nutanix-credentials",
	} {
		want[cloud] = "openshift-machine-api/" + secret + " for [machine-api-controllers]"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

// TestReleaseNetwork: section 7.8, the ports of pods that the network policies open.
func TestReleaseNetwork(t *testing.T) {
	all, _ := released(t)
	ports := func(policy string) string {
		list, _ := at(all["NetworkPolicy "+policy], "spec/ingress/0/ports").([]any)
		var out []string
		for _, p := range list {
			m, _ := p.(map[string]any)
			text := fmt.Sprint(m["port"])
			if m["endPort"] != nil {
				text += fmt.Sprint("-", m["endPort"])
			}
			out = append(out, text)
		}
		return strings.Join(out, " ")
	}
	for policy, want := range map[string]string{
		"allow-ingress-cluster": "9440-9442", "allow-ingress-kubeapi": "9443", "allow-ingress-metrics": "8085 8440-8444 9191-9192",
		"allow-ingress-metal": "80 443 6180 6183 6385 6388 8084 9447 9608",
	} {
		if got := ports(policy); got != want {
			t.Errorf("%s opens the ports %s, want %s", policy, got, want)
		}
	}
}

// rightsOf returns the rules of the roles whose names begin with the name of an account, by the namespace of the
// role. Rules of cluster roles have the namespace "".
func rightsOf(t *testing.T, account string) map[string][]rbacv1.PolicyRule {
	t.Helper()
	all, _ := released(t)
	out := map[string][]rbacv1.PolicyRule{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		o := all[key]
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" || !strings.HasPrefix(o.GetName(), account) {
			continue
		}
		var role rbacv1.Role
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		out[o.GetNamespace()] = append(out[o.GetNamespace()], role.Rules...)
	}
	return out
}

// TestRightsOfOperands: section 7.8, the rights of the operands' account. The machine controllers of all providers
// run under this account.
func TestRightsOfOperands(t *testing.T) {
	const home, reads, all = "openshift-machine-api", "get list watch", "create delete get list patch update watch"
	rights := rightsOf(t, "machine-api-controllers")
	for _, row := range []struct{ where, group, resources, verbs string }{
		{"", "", "nodes", all},
		{"", "", "pods", "delete " + reads},
		{"", "", "pods/eviction", "create"},
		{"", "apps", "daemonsets", reads},
		{"", "authentication.k8s.io", "tokenreviews", "create"},
		{"", "authorization.k8s.io", "subjectaccessreviews", "create"},
		{"", "config.openshift.io", "apiservers infrastructures dnses clusterversions featuregates", reads},
		{"", "machineconfiguration.openshift.io", "machineconfigs machineconfigpools", reads},
		{home, "machine.openshift.io", "machines machinesets", all},
		{home, "machine.openshift.io", "machines/status machinesets/status", "patch update"},
		{home, "", "configmaps secrets", all},
		{home, "coordination.k8s.io", "leases", all},
		{home, "", "events", "create patch update"},
		{home, "events.k8s.io", "events", "create patch update"},
		{home, "metal3.io", "baremetalhosts", "patch update " + reads},
		{home, "ipam.cluster.x-k8s.io", "ipaddresses", "get list"},
		{home, "ipam.cluster.x-k8s.io", "ipaddressclaims", all},
		{"openshift-config", "", "configmaps", reads},
		{"openshift-config-managed", "", "configmaps", reads},
	} {
		for _, resource := range strings.Fields(row.resources) {
			for _, verb := range strings.Fields(row.verbs) {
				if !slices.ContainsFunc(rights[row.where], func(r rbacv1.PolicyRule) bool {
					return slices.Contains(r.APIGroups, row.group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb) && len(r.ResourceNames) == 0
				}) {
					t.Errorf("the account may not %s %s.%s in namespace %q", verb, resource, row.group, row.where)
				}
			}
		}
	}
	for where, rules := range rights {
		for _, r := range rules {
			if slices.Contains(slices.Concat(r.Verbs, r.Resources, r.APIGroups), "*") || where != home && slices.Contains(r.Resources, "secrets") {
				t.Errorf("the account has too many rights in namespace %q: %v", where, r)
			}
		}
	}
}
