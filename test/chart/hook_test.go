package chart

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/runtime/installation"
)

// hookPod is the pod of `helm test`, with the other objects of the hook.
const hookPod = "millwright-test"

// TestHook: the pod of `helm test` checks what the values deploy, with the image of the release.
func TestHook(t *testing.T) {
	for _, c := range []struct{ reason, values, deployments, apis, image string }{
		{"without values", "{}", "machine-controller-manager,machineset-controller,machine-controller-kubemark", "machine.openshift.io/v1beta1,machine.sapcloud.io/v1alpha1", "millwright-controllers:devel"},
		{"one API", "{apis: [machine.sapcloud.io]}", "machine-controller-manager,machine-controller-kubemark", "machine.sapcloud.io/v1alpha1", "millwright-controllers:devel"},
		{"a cloud", "{provider: {enabled: true}, image: {repository: r.example/m, tag: v1}}", "machine-controller-manager,machineset-controller,machine-controller", "machine.openshift.io/v1beta1,machine.sapcloud.io/v1alpha1", "r.example/m:v1"},
		{"no provider", "{kubemark: {enabled: false}}", "machine-controller-manager,machineset-controller", "machine.openshift.io/v1beta1,machine.sapcloud.io/v1alpha1", "millwright-controllers:devel"},
	} {
		r, err := render(t, "x", c.values)
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		for _, h := range r.Hooks {
			if h.Kind == "Pod" {
				if err := yaml.Unmarshal([]byte(h.Manifest), &pod); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(pod.Spec.Containers) != 1 {
			t.Fatalf("%s: no pod among %d hooks", c.reason, len(r.Hooks))
		}
		want := []string{"--namespace=x", "--deployments=" + c.deployments, "--apis=" + c.apis}
		if got := pod.Spec.Containers[0]; !slices.Equal(got.Args, want) || got.Image != c.image {
			t.Errorf("%s: %s %q, want %s %q", c.reason, got.Image, got.Args, c.image, want)
		}
	}
}

// testsRelease runs `helm test`, which fails until the Deployments are available. The API server enforces the restricted Pod
// Security Standard. There is no kubelet: this process runs the program of the pod with the rights of its service account, and
// writes the result into the status of the pod.
func testsRelease(t *testing.T, env *devplanetest.Env, helm *action.Configuration) {
	t.Helper()
	label := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := env.Client.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	test := action.NewReleaseTesting(helm)
	test.Namespace, test.Timeout = namespace, time.Minute

	said := runHook(t, env)
	if _, err := test.Run("millwright"); err == nil {
		t.Error("helm test succeeds before any pod is available")
	}
	if got := <-said; got == nil || !bytes.Contains([]byte(got.Error()), []byte("deployment millwright-system/machine-controller-manager: its controller has not seen its last change")) {
		t.Errorf("the check says %v", got)
	}
	if _, err := env.Client.CoreV1().Pods(namespace).Get(t.Context(), hookPod, metav1.GetOptions{}); err != nil {
		t.Errorf("the failed pod, whose log says why: %v", err)
	}

	becomeAvailable(t, env)
	said = runHook(t, env)
	if _, err := test.Run("millwright"); err != nil {
		t.Errorf("helm test: %v", err)
	}
	if err := <-said; err != nil {
		t.Error(err)
	}
	if _, err := env.Client.RbacV1().Roles(namespace).Get(t.Context(), hookPod, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the test leaves its role: %v", err)
	}
}

// runHook runs the next pod of the hook, and sends the result of its program.
func runHook(t *testing.T, env *devplanetest.Env) <-chan error {
	t.Helper()
	kubeconfig := impersonated(t, env)
	before := ""
	if old, err := env.Client.CoreV1().Pods(namespace).Get(t.Context(), hookPod, metav1.GetOptions{}); err == nil {
		before = string(old.UID)
	}
	said := make(chan error, 1)
	go func() { said <- runNext(t.Context(), env, kubeconfig, before) }()
	return said
}

func runNext(ctx context.Context, env *devplanetest.Env, kubeconfig, before string) error {
	pods := env.Client.CoreV1().Pods(namespace)
	var pod *corev1.Pod
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		pod, err = pods.Get(ctx, hookPod, metav1.GetOptions{})
		return err == nil && string(pod.UID) != before, nil
	})
	if err != nil {
		return fmt.Errorf("no pod of the hook: %w", err)
	}
	program := installation.Command()
	program.SetArgs(append(pod.Spec.Containers[0].Args, "--kubeconfig="+kubeconfig, "--timeout=0s"))
	program.SetOut(&bytes.Buffer{})
	result := program.ExecuteContext(ctx)
	pod.Status.Phase = corev1.PodSucceeded
	if result != nil {
		pod.Status.Phase = corev1.PodFailed
	}
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return result
}

// impersonated writes a kubeconfig with the rights of the hook's account.
func impersonated(t *testing.T, env *devplanetest.Env) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(env.KubeconfigPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + namespace + ":" + hookPod
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// becomeAvailable writes the status into each Deployment that its controller would write after all pods are available.
func becomeAvailable(t *testing.T, env *devplanetest.Env) {
	t.Helper()
	all, err := env.Client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 3 {
		t.Fatalf("%d Deployments, want 3: %v", len(all.Items), err)
	}
	for _, d := range all.Items {
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		if _, err := env.Client.AppsV1().Deployments(namespace).UpdateStatus(t.Context(), &d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
