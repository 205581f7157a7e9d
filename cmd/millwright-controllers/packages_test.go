package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// TestMain starts an API server without CRDs, because the packages have the CRDs.
func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{NoCRDs: true})) }

const namespace = "millwright-system"

// kubectl runs kubectl with the shared API server, in the root of the repository, and returns the output.
func kubectl(t *testing.T, args ...string) []byte {
	t.Helper()
	env := devplanetest.Start(t)
	path, err := env.Assets.Path(devplane.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.Dir, c.Env = root, append(os.Environ(), "KUBECONFIG="+env.KubeconfigPath)
	out, err := c.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("kubectl %v: %v\n%s", args, err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return out
}

func objects(t *testing.T, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

func deployments(t *testing.T, manifests []byte) map[string]*appsv1.Deployment {
	t.Helper()
	found := map[string]*appsv1.Deployment{}
	for _, o := range objects(t, manifests) {
		if o.GetKind() != "Deployment" {
			continue
		}
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, d, true); err != nil {
			t.Fatalf("%s: %v", o.GetName(), err)
		}
		found[d.Name] = d
	}
	return found
}

// TestOverlays checks the programs, APIs, CRDs and webhooks of each overlay, and whether its programs connect to a
// separate target cluster.
func TestOverlays(t *testing.T) {
	const both, openshift, gardener = "--apis=machine.openshift.io,machine.sapcloud.io", "--apis=machine.openshift.io", "--apis=machine.sapcloud.io"
	for _, c := range []struct {
		overlay, reason string
		apis            map[string]string // the flag --apis, by the name of the program
		crds, webhooks  int
		target          bool
	}{
		{"config/default", "both APIs", map[string]string{"machine-controller-manager": both, "machineset-controller": openshift, "machine-controller-kubemark": both}, 10, 3, false},
		{"config/overlays/target", "both APIs, for another cluster", map[string]string{"machine-controller-manager": both, "machineset-controller": openshift, "machine-controller-kubemark": both}, 10, 3, true},
		{"config/overlays/machine-openshift-io", "one API, with the older kind of health check", map[string]string{"machine-controller-manager": openshift, "machineset-controller": openshift, "machine-controller-kubemark": openshift}, 6, 3, false},
		{"config/overlays/machine-sapcloud-io", "one API, which has no webhooks", map[string]string{"machine-controller-manager": gardener, "machine-controller-kubemark": gardener}, 4, 0, false},
		{"config/overlays/cloud", "both APIs, and the image of a cloud", map[string]string{"machine-controller-manager": both, "machineset-controller": openshift, "machine-controller": both}, 10, 3, false},
		{"cmd/millwright-controllers/testdata/cloud", "one API, a cloud, another cluster", map[string]string{"machine-controller-manager": gardener, "machine-controller": gardener}, 4, 0, true},
		{"config/overlays/target-cluster", "rights only", map[string]string{}, 0, 0, false},
	} {
		t.Run(c.overlay, func(t *testing.T) {
			built := kubectl(t, "kustomize", c.overlay)
			crds, webhooks := 0, 0
			for _, o := range objects(t, built) {
				switch o.GetKind() {
				case "CustomResourceDefinition":
					crds++
				case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
					webhooks++
				}
			}
			if crds != c.crds || webhooks != c.webhooks {
				t.Errorf("%s: %d CRDs and %d configurations of webhooks, want %d and %d", c.reason, crds, webhooks, c.crds, c.webhooks)
			}
			found := deployments(t, built)
			if len(found) != len(c.apis) {
				t.Errorf("%s: %d Deployments, want %d", c.reason, len(found), len(c.apis))
			}
			for name, apis := range c.apis {
				d := found[name]
				if d == nil {
					t.Errorf("%s: no Deployment %s", c.reason, name)
					continue
				}
				args := d.Spec.Template.Spec.Containers[0].Args
				if !slices.Contains(args, apis) || slices.Contains(args, "--control-kubeconfig=inClusterConfig") != c.target {
					t.Errorf("%s: %s has the arguments %v", c.reason, name, args)
				}
				accepted(t, d)
			}
		})
	}
}

// TestCloud: the machine controller of a cloud replaces the simulated one, of which no object remains. One entry of
// images selects the cloud.
func TestCloud(t *testing.T) {
	const overlay = "cmd/millwright-controllers/testdata/cloud"
	built := objects(t, kubectl(t, "kustomize", overlay))
	for _, o := range built {
		if strings.HasPrefix(o.GetName(), "machine-controller-kubemark") {
			t.Errorf("%s %s of the simulated provider remains", o.GetKind(), o.GetName())
		}
	}
	for _, want := range []string{"Service/machine-controller-metrics", "PodDisruptionBudget/machine-controller", "ClusterRoleBinding/machine-controller-cloud", "RoleBinding/machine-controller-addresses"} {
		if !slices.ContainsFunc(built, func(o *unstructured.Unstructured) bool { return o.GetKind()+"/"+o.GetName() == want }) {
			t.Errorf("the overlay lacks %s", want)
		}
	}
	d := deployments(t, kubectl(t, "kustomize", overlay))["machine-controller"]
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/machine-controller-vsphere:v1.2.3" || *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas of the image %s", *d.Spec.Replicas, image)
	}
}

// accepted checks that the program accepts its command line, and that it listens on each port that probes use.
func accepted(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	c := d.Spec.Template.Spec.Containers[0]
	program, known := programs()[strings.TrimPrefix(c.Command[0], "/")]
	if !known {
		t.Fatalf("%s: the image has no program %s", d.Name, c.Command[0])
	}
	command := program()
	if err := command.ParseFlags(c.Args); err != nil {
		t.Errorf("%s: the program does not accept its command line: %v", d.Name, err)
	}
	health, err := command.Flags().GetString("health-addr")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Ports {
		if p.Name == "health" && ":"+strconv.Itoa(int(p.ContainerPort)) != health {
			t.Errorf("%s: probes use port %d, but the program listens at %s", d.Name, p.ContainerPort, health)
		}
	}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p == nil || p.HTTPGet.Port.StrVal != "health" {
			t.Errorf("%s: probe %v, want each probe at the port named health", d.Name, p)
		}
	}
}

// TestInstall applies config/default and millwright.yaml, as users do. The API server must admit a pod of each
// Deployment under the restricted pod security standard.
func TestInstall(t *testing.T) {
	kubectl(t, "apply", "-k", "config/default")
	one := packaged(t, "millwright.yaml")
	kubectl(t, "apply", "-f", one) // an upgrade to the same version
	pods := devplanetest.Start(t).Client.CoreV1().Pods(namespace)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	all := deployments(t, kubectl(t, "kustomize", "config/default"))
	maps.Copy(all, deployments(t, kubectl(t, "kustomize", "config/overlays/cloud")))
	for name, d := range all {
		pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
		pod.Name = name
		if _, err := pods.Create(t.Context(), pod, dry); err != nil {
			t.Errorf("%s: the API server does not admit the pod: %v", name, err)
		}
		pod.Spec.HostNetwork = true
		if _, err := pods.Create(t.Context(), pod, dry); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "restricted") {
			t.Errorf("%s: the API server admits a pod in the host's network: error %v", name, err)
		}
	}
	kubectl(t, "delete", "--wait=false", "-f", one)
}
