package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// openshiftCRDs installs the CustomResourceDefinitions of OpenShift to which the policies of failure domains apply, from the
// module of their types.
func openshiftCRDs(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../../go.mod"); err != nil { // so that Go's test cache notices a new version
		t.Fatal(err)
	}
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatalf("find the module of the types: %v", err)
	}
	at := func(parts ...string) string {
		return filepath.Join(append([]string{strings.TrimSpace(string(dir))}, parts...)...)
	}
	_, err = envtest.InstallCRDs(devplanetest.Start(t).Config, envtest.CRDInstallOptions{MaxTime: time.Minute, ErrorIfPathMissing: true, Paths: []string{
		at("config", "v1", "zz_generated.crd-manifests", "0000_10_config-operator_01_infrastructures-Default.crd.yaml"),
		at("machine", "v1", "zz_generated.crd-manifests", "0000_10_control-plane-machine-set_01_controlplanemachinesets-Default.crd.yaml"),
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// domain is a failure domain of vSphere.
func domain(name, region, zone string) configv1.VSpherePlatformFailureDomainSpec {
	return configv1.VSpherePlatformFailureDomainSpec{
		Name: name, Region: region, Zone: zone, Server: "vcenter.example.com",
		Topology: configv1.VSpherePlatformTopology{
			Datacenter: "dc", ComputeCluster: "/dc/host/c", Datastore: "/dc/datastore/d", Networks: []string{"n"},
		},
	}
}

// infrastructure stores an Infrastructure of a platform with five failure domains.
func infrastructure(t *testing.T, c client.Client, name string, platform configv1.PlatformType) *configv1.Infrastructure {
	t.Helper()
	i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: name}}
	i.Spec.PlatformSpec.Type = configv1.VSpherePlatformType
	i.Spec.PlatformSpec.VSphere = &configv1.VSpherePlatformSpec{
		VCenters: []configv1.VSpherePlatformVCenterSpec{{Server: "vcenter.example.com", Datacenters: []string{"dc"}}},
		FailureDomains: []configv1.VSpherePlatformFailureDomainSpec{
			domain("by-machine", "r1", "z1"), domain("by-set", "r1", "z2"), domain("by-cpms", "r2", "z1"), domain("by-cpms-too", "r2", "z2"), domain("free", "r3", "z3"),
		},
	}
	if err := c.Create(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	i.Status.PlatformStatus = &configv1.PlatformStatus{Type: platform}
	i.Status.ControlPlaneTopology, i.Status.InfrastructureTopology = configv1.HighlyAvailableTopologyMode, configv1.HighlyAvailableTopologyMode
	if err := c.Status().Update(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	return i
}

// without returns an update of an Infrastructure that removes or replaces failure domains. The update is not stored.
func without(t *testing.T, c client.Client, i *configv1.Infrastructure, names string, more ...configv1.VSpherePlatformFailureDomainSpec) func() error {
	t.Helper()
	next := i.DeepCopy()
	next.Spec.PlatformSpec.VSphere.FailureDomains = nil
	for _, d := range i.Spec.PlatformSpec.VSphere.FailureDomains {
		if !strings.Contains(" "+names+" ", " "+d.Name+" ") {
			next.Spec.PlatformSpec.VSphere.FailureDomains = append(next.Spec.PlatformSpec.VSphere.FailureDomains, d)
		}
	}
	next.Spec.PlatformSpec.VSphere.FailureDomains = append(next.Spec.PlatformSpec.VSphere.FailureDomains, more...)
	return func() error { return c.Update(t.Context(), next.DeepCopy(), client.DryRunAll) }
}

const (
	cpms = `{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":"cluster"},"spec":{
		"replicas":3,"state":"Inactive","selector":{"matchLabels":{"machine.openshift.io/cluster-api-machine-role":"master","machine.openshift.io/cluster-api-machine-type":"master"}},
		"template":{"machineType":"machines_v1beta1_machine_openshift_io","machines_v1beta1_machine_openshift_io":{
			"failureDomains":{"platform":"VSphere","vsphere":[{"name":"by-cpms"},{"name":"by-cpms-too"}]},
			"metadata":{"labels":{"machine.openshift.io/cluster-api-machine-role":"master","machine.openshift.io/cluster-api-machine-type":"master","machine.openshift.io/cluster-api-cluster":"c"}},
			"spec":{"providerSpec":{"value":{}}}}}}}`
	emptySet = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"none"},"spec":{"replicas":0,
		"template":{"metadata":{"labels":{"machine.openshift.io/region":"r1","machine.openshift.io/zone":"z2"}}}}}`
)

// placed returns a machine with labels of region and zone; an empty label is omitted.
func placed(t *testing.T, namespace, name, region, zone string) *unstructured.Unstructured {
	m := manifest(t, namespace, `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","spec":{}}`)
	m.SetName(name)
	labels := map[string]string{}
	if region != "" {
		labels["machine.openshift.io/region"] = region
	}
	if zone != "" {
		labels["machine.openshift.io/zone"] = zone
	}
	m.SetLabels(labels)
	return m
}

// failureDomains returns an Infrastructure on vSphere after each of the shipped policies has taken effect, and the machine in
// its first failure domain.
func failureDomains(t *testing.T) (client.Client, *configv1.Infrastructure, *unstructured.Unstructured) {
	t.Helper()
	c, elsewhere := connect(t)
	openshiftCRDs(t)
	if err := configv1.Install(c.Scheme()); err != nil {
		t.Fatal(err)
	}
	const home = "openshift-machine-api"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	if _, err := devplanetest.Start(t).Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	i := infrastructure(t, c, "cluster", configv1.VSpherePlatformType)
	used := placed(t, home, "m", "r1", "z1")
	installed(t, c, manifest(t, home, emptySet), manifest(t, home, cpms),
		placed(t, home, "unplaced", "", ""), placed(t, home, "half", "r3", ""), placed(t, home, "other-half", "", "z3"),
		placed(t, home, "nowhere", "r3", "z1"), placed(t, elsewhere, "theirs", "r3", "z3"), used)
	for _, file := range []string{"vsphere_machine.yaml", "vsphere_machineset.yaml", "vsphere_cpms.yaml"} {
		installed(t, c, shipped(t, file)...)
	}
	const would = "Infrastructure update would remove vSphere failure domain"
	await(t, would+" (region=r1, zone=z1) that is still in use by Machine 'm'", without(t, c, i, "by-machine"))
	await(t, would+" (region=r1, zone=z2) that is still in use by MachineSet 'none'", without(t, c, i, "by-set"))
	await(t, would+"(s) still referenced by ControlPlaneMachineSet 'cluster': [by-cpms-too]", without(t, c, i, "by-cpms-too"))
	return c, i, used
}

// TestFailureDomainsInUse: while the policies take effect, the test expects the exact messages of the original. The rows have
// the other messages.
func TestFailureDomainsInUse(t *testing.T) {
	c, i, used := failureDomains(t)
	const would = "Infrastructure update would remove vSphere failure domain"
	for _, r := range []struct {
		name   string
		update func() error
		says   string
		reason string
	}{
		{"both of a control plane", without(t, c, i, "by-cpms by-cpms-too"), would + "(s) still referenced by ControlPlaneMachineSet 'cluster': [by-cpms, by-cpms-too]", "each that is missing is named"},
		{"rename one of a control plane", without(t, c, i, "by-cpms", domain("renamed", "r2", "z1")), would + "(s) still referenced by ControlPlaneMachineSet 'cluster': [by-cpms]", "it goes by names"},
		{"move one of a machine to another zone", without(t, c, i, "by-machine", domain("by-machine", "r1", "z9")), would + " (region=r1, zone=z1) that is still in use by Machine 'm'", "it goes by regions and zones"},
		{"nothing", without(t, c, i, ""), "", "machines in no failure domain stand in no way"},
		{"one that is free", without(t, c, i, "free"), "", "region or zone alone, or in another namespace, is no use"},
		{"add one", without(t, c, i, "", domain("more", "r4", "z4")), "", "no failure domain is removed"},
		{"rename one of a machine", without(t, c, i, "by-machine", domain("renamed", "r1", "z1")), "", "it goes by regions and zones"},
		{"rename one of a set", without(t, c, i, "by-set", domain("renamed", "r1", "z2")), "", "it goes by regions and zones"},
		{"move one of a control plane", without(t, c, i, "by-cpms", domain("by-cpms", "r2", "z9")), "", "it goes by names"},
		{"another platform", without(t, c, infrastructure(t, c, "none", configv1.NonePlatformType), "by-machine by-set by-cpms"), "", "only vSphere is looked at"},
	} {
		t.Run(r.name, func(t *testing.T) {
			if different := judged(r.update(), r.says); different != "" {
				t.Errorf("%s: %s", different, r.reason)
			}
		})
	}
	// Without machines, the policy has no parameter, and does not refuse the update.
	if err := c.DeleteAllOf(t.Context(), &unstructured.Unstructured{Object: used.Object}, client.InNamespace(used.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	await(t, "", without(t, c, i, "by-machine"))
}
