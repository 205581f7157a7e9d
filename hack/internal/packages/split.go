package packages

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const header = "# Generated from config/overlays/version-operator by make packages.\n"

// The name of a file in a release has its run level and its position in the level. The file has all objects of its kinds, or
// only those with its object name.
type file struct {
	name  string
	kinds []string
	// object is the name of the only object; empty for all objects.
	object string
}

func at30(rest string, object string, kinds ...string) file {
	return file{"0000_30_machine-api-operator_" + rest + ".yaml", kinds, object}
}

func at90(rest string, object string, kinds ...string) file {
	return file{"0000_90_machine-api-operator_" + rest + ".yaml", kinds, object}
}

// files are all files, with the names of the original if it has such a file. An object belongs to the first file that fits.
var files = []file{
	at30("00_credentials-request", "", "CredentialsRequest"),
	at30("00_namespace", "", "Namespace"),
	at30("01_images.configmap", "machine-api-operator-images", "ConfigMap"),
	at30("01_trusted-ca-configmap", "mao-trusted-ca", "ConfigMap"),
	at30("02_machine.crd", "machines.machine.openshift.io", "CustomResourceDefinition"),
	at30("03_machineset.crd", "machinesets.machine.openshift.io", "CustomResourceDefinition"),
	at30("04_machinedeployment.crd", "machinedeployments.machine.openshift.io", "CustomResourceDefinition"),
	at30("05_cluster.crd", "clusters.machine.openshift.io", "CustomResourceDefinition"),
	at30("07_machinehealthcheck.crd", "machinehealthchecks.machine.openshift.io", "CustomResourceDefinition"),
	at30("08_machine_webhook_service", "machine-api-operator-machine-webhook", "Service"),
	at30("08_webhook_service", "machine-api-operator-webhook", "Service"),
	at30("09_rbac", "", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
	at30("09_security_context_constraint", "", "SecurityContextConstraints"),
	at30("10_kube-rbac-proxy-config", "kube-rbac-proxy", "ConfigMap"),
	at30("10_service", "", "Service"),
	at30("11_deployment", "", "Deployment"),
	at30("12_clusteroperator", "", "ClusterOperator"),
	at30("13_machinehealthcheck", "", "MachineHealthCheck"),
	at90("03_servicemonitor", "", "ServiceMonitor"),
	at90("04_alertrules", "", "PrometheusRule"),
	at90("05_networkpolicy-default-deny", "default-deny", "NetworkPolicy"),
	at90("05_networkpolicy-allow-egress", "allow-egress", "NetworkPolicy"),
	at90("05_networkpolicy-allow-ingress-cluster", "allow-ingress-cluster", "NetworkPolicy"),
	at90("05_networkpolicy-allow-ingress-kubeapi", "allow-ingress-kubeapi", "NetworkPolicy"),
	at90("05_networkpolicy-allow-ingress-metrics", "allow-ingress-metrics", "NetworkPolicy"),
	at90("05_networkpolicy-allow-ingress-metal", "allow-ingress-metal", "NetworkPolicy"),
}

// split puts each manifest into its file. It returns an error if a manifest fits no file, or a file is empty.
func split(manifests string) (map[string]string, error) {
	out := map[string]string{}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(files, func(f file) bool {
			return slices.Contains(f.kinds, object.Kind) && (f.object == "" || f.object == object.Metadata.Name)
		})
		if i < 0 {
			return nil, fmt.Errorf("%s %s: no file is for it: add one in hack/internal/packages", object.Kind, object.Metadata.Name)
		}
		name := files[i].name
		if out[name] == "" {
			out[name] = header
		}
		out[name] += "---\n" + strings.TrimSuffix(document, "\n") + "\n"
	}
	for _, f := range files {
		if out[f.name] == "" {
			return nil, fmt.Errorf("%s: there is no %s %s for it", f.name, strings.Join(f.kinds, " or "), f.object)
		}
	}
	return out, nil
}
