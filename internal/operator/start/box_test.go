package start

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/operator"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{})) }

const (
	home = "openshift-machine-api"
	good = `{"machineAPIOperator": "mao:1", "kubeRBACProxy": "rbac:1", "clusterAPIControllerAWS": "aws:1", "clusterAPIControllerBareMetal": "metal:1", "clusterAPIControllerOpenStack": "stack:1", "clusterAPIControllerVSphere": "mao:1"}`
)

// box is an API server without kubelets and without kube-controller-manager: the test says how Deployments are.
type box struct {
	client.Client
	*testing.T
	env    *devplanetest.Env
	images string
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{T: t, env: devplanetest.Start(t), images: filepath.Join(t.TempDir(), "images.json")}
	scheme := run.Scheme()
	b.must(errors.Join(operator.Scheme(scheme), apiextensionsv1.AddToScheme(scheme)))
	var err error
	b.Client, err = client.New(b.env.Config, client.Options{Scheme: scheme})
	b.must(err)
	b.must(client.IgnoreAlreadyExists(b.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}})))
	for _, file := range []string{"service_account", "role", "role_binding"} {
		b.apply("../../../config/rbac/machine-api-operator/" + file + ".yaml")
	}
	b.say(good)
	t.Cleanup(b.clean)
	return b
}

// clean removes what the operator and the test made.
func (b *box) clean() {
	ctx := context.Background()
	for _, o := range []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-controllers"}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-operator"}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-termination-handler"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}},
	} {
		if err := client.IgnoreNotFound(b.Client.Delete(ctx, o)); err != nil {
			b.Error(err)
		}
	}
}

func (b *box) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *box) say(images string) {
	b.Helper()
	b.must(os.WriteFile(b.images, []byte(images), 0o600))
}

func (b *box) apply(file string) {
	b.Helper()
	raw, err := os.ReadFile(file)
	b.must(err)
	for _, document := range bytes.Split(bytes.TrimPrefix(raw, []byte("---\n")), []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		b.must(yaml.Unmarshal(document, &o.Object))
		b.must(client.IgnoreAlreadyExists(b.Create(b.Context(), o)))
	}
}

// published is where the go command has the manifests of OpenShift's kinds.
func published(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// openshift installs the CRDs of config.openshift.io, for as long as the test lasts.
func (b *box) openshift() {
	b.Helper()
	dir := filepath.Join(published(b.T), "config/v1/zz_generated.crd-manifests")
	paths := []string{filepath.Join(dir, "../../../machine/v1/zz_generated.crd-manifests/0000_10_control-plane-machine-set_01_controlplanemachinesets-Default.crd.yaml")}
	for _, name := range []string{
		"0000_00_cluster-version-operator_01_clusteroperators", "0000_03_config-operator_01_proxies", "0000_10_config-operator_01_featuregates",
		"0000_10_config-operator_01_apiservers-CustomNoUpgrade", "0000_10_config-operator_01_infrastructures-Default",
	} {
		paths = append(paths, filepath.Join(dir, name+".crd.yaml"))
	}
	crds, err := envtest.InstallCRDs(b.env.Config, envtest.CRDInstallOptions{Paths: paths, MaxTime: time.Minute})
	b.must(err)
	b.Cleanup(func() {
		b.removed(crds)
		b.within(time.Minute, "config.openshift.io is served no more", func() error {
			list, err := b.env.Client.Discovery().ServerGroups()
			if err == nil && slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == configv1.GroupName }) {
				err = errors.New("it still is")
			}
			return err
		})
	})
}

// removed deletes CRDs and waits until they do not exist: a client that creates one during its deletion
// only updates it, and ends up without it.
func (b *box) removed(crds []*apiextensionsv1.CustomResourceDefinition) {
	b.Helper()
	ctx := context.Background()
	for _, crd := range crds {
		b.must(client.IgnoreNotFound(b.Client.Delete(ctx, crd)))
	}
	nudge := time.Now().Add(time.Second)
	b.within(time.Minute, "CRDs are gone", func() error {
		for _, crd := range crds {
			err := b.Get(ctx, client.ObjectKeyFromObject(crd), crd)
			if apierrors.IsNotFound(err) {
				continue
			}
			// The API server's finalizer forgets a CRD whose status another client writes at the same
			// moment, until it changes again.
			if err == nil && time.Now().After(nudge) {
				change := fmt.Appendf(nil, `{"metadata":{"annotations":{"nudged":%q}}}`, time.Now())
				err, nudge = client.IgnoreNotFound(b.Patch(ctx, crd, client.RawPatch(types.MergePatchType, change))), time.Now().Add(time.Second)
			}
			return errors.Join(err, errors.New(crd.Name+" is still there"))
		}
		return nil
	})
}

// start runs the program with the rights of its roles until the test ends.
func (b *box) start(change func(*options)) {
	b.Helper()
	kubeconfig, err := b.env.Kubeconfig("system:serviceaccount:" + home + ":machine-api-operator")
	b.must(err)
	file := filepath.Join(b.TempDir(), "kubeconfig")
	b.must(os.WriteFile(file, kubeconfig, 0o600))
	o := options{kubeconfig: file, images: b.images, elect: true, certDir: b.TempDir()}
	b.Setenv(envRelease, "4.2")
	b.Setenv(envPort, "0")
	b.must(o.complete())
	if change != nil {
		change(&o)
	}
	devplanetest.Run(b.T, o.run)
}

// within waits no longer than that for check to say nothing.
func (b *box) within(limit time.Duration, reason string, check func() error) {
	b.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	b.Fatalf("%s: %v", reason, err)
}

// conditioned waits for a condition of the ClusterOperator as status/reason, with a part of its message.
func (b *box) conditioned(reason string, kind configv1.ClusterStatusConditionType, want, message string) {
	b.Helper()
	b.within(40*time.Second, reason, func() error {
		var co configv1.ClusterOperator
		if err := b.Get(b.Context(), client.ObjectKey{Name: "machine-api"}, &co); err != nil {
			return err
		}
		for _, c := range co.Status.Conditions {
			if c.Type == kind && string(c.Status)+"/"+c.Reason == want && strings.Contains(c.Message, message) {
				return nil
			}
		}
		return fmt.Errorf("%+v", co.Status.Conditions)
	})
}

func (b *box) deployment() *appsv1.Deployment {
	b.Helper()
	var d appsv1.Deployment
	b.must(b.Get(b.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-controllers"}, &d))
	return &d
}

// deployed waits until the Deployment is so.
func (b *box) deployed(reason string, so func(*appsv1.Deployment) bool) {
	b.Helper()
	b.within(20*time.Second, reason, func() error {
		var d appsv1.Deployment
		if err := b.Get(b.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-controllers"}, &d); err != nil {
			return err
		}
		if !so(&d) {
			return fmt.Errorf("%+v", d.Spec)
		}
		return nil
	})
}

// rolledOut plays the part of kube-controller-manager and kubelets: all pods have run for four minutes, whatever comes.
func (b *box) rolledOut() {
	b.Helper()
	d := b.deployment()
	was := d.DeepCopy()
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1000, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1, Conditions: []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-4 * time.Minute)), LastUpdateTime: metav1.Now(),
	}}}
	b.must(b.Status().Patch(b.Context(), d, client.MergeFrom(was)))
	var ds appsv1.DaemonSet
	err := b.Get(b.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &ds)
	if apierrors.IsNotFound(err) {
		return
	}
	b.must(err)
	before := ds.DeepCopy()
	ds.Status.ObservedGeneration = 1000
	b.must(b.Status().Patch(b.Context(), &ds, client.MergeFrom(before)))
}

func (b *box) infrastructure(platform configv1.PlatformType) *configv1.Infrastructure {
	b.Helper()
	i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	i.Spec.PlatformSpec.Type = platform
	b.must(b.Create(b.Context(), i))
	i.Status = configv1.InfrastructureStatus{
		InfrastructureName: "c-1", ControlPlaneTopology: configv1.HighlyAvailableTopologyMode, InfrastructureTopology: configv1.HighlyAvailableTopologyMode,
		PlatformStatus: &configv1.PlatformStatus{Type: platform},
	}
	b.must(b.Status().Update(b.Context(), i))
	return i
}

func (b *box) gates(on ...configv1.FeatureGateName) {
	b.Helper()
	g := &configv1.FeatureGate{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	b.must(client.IgnoreAlreadyExists(b.Create(b.Context(), g)))
	b.must(b.Get(b.Context(), client.ObjectKeyFromObject(g), g))
	details := configv1.FeatureGateDetails{Version: "4.2", Enabled: []configv1.FeatureGateAttributes{}, Disabled: []configv1.FeatureGateAttributes{}}
	for _, name := range on {
		details.Enabled = append(details.Enabled, configv1.FeatureGateAttributes{Name: name})
	}
	g.Status.FeatureGates = []configv1.FeatureGateDetails{details}
	b.must(b.Status().Update(b.Context(), g))
}

func args(d *appsv1.Deployment, container string) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == container {
			return strings.Join(c.Args, " ")
		}
	}
	return ""
}

func env(d *appsv1.Deployment, container, name string) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, v := range c.Env {
			if c.Name == container && v.Name == name {
				return v.Value
			}
		}
	}
	return ""
}

// begun is a cluster on AWS where all is well.
func begun(t *testing.T, change func(*options)) *box {
	t.Helper()
	b := newBox(t)
	b.openshift()
	b.infrastructure(configv1.AWSPlatformType)
	b.gates()
	b.start(change)
	b.deployed("the first sync", func(*appsv1.Deployment) bool { return true })
	b.within(20*time.Second, "the first sync", func() error {
		return b.Get(b.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &appsv1.DaemonSet{})
	})
	b.rolledOut()
	b.conditioned("all pods run", configv1.OperatorAvailable, "True/AsExpected", "available at operator: 4.2")
	return b
}
