package chart

import (
	"testing"

	"helm.sh/helm/v3/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// TestInstall installs the chart, upgrades it, and uninstalls it, on a real API server.
func TestInstall(t *testing.T) {
	env := devplanetest.Start(t)
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = ptr.To(env.KubeconfigPath), ptr.To(namespace)
	var helm action.Configuration
	if err := helm.Init(flags, namespace, "secret", t.Logf); err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace = "millwright", namespace, true
	if _, err := install.Run(loaded(t), values(t, "{}")); err != nil {
		t.Fatal(err)
	}
	testsRelease(t, env, &helm)
	secrets, deployments := env.Client.CoreV1().Secrets(namespace), env.Client.AppsV1().Deployments(namespace)
	own, err := secrets.Get(t.Context(), "millwright-webhook-cert", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own.Data = map[string][]byte{"tls.crt": []byte("x")}
	if _, err := secrets.Update(t.Context(), own, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	upgrade := action.NewUpgrade(&helm)
	upgrade.Namespace = namespace
	if _, err := upgrade.Run("millwright", loaded(t), values(t, "{machineControllerManager: {replicas: 3}, target: {kubeconfigSecret: a}, kubemark: {enabled: false}}")); err != nil {
		t.Fatal(err)
	}
	d, err := deployments.Get(t.Context(), "machine-controller-manager", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 3 || len(d.Spec.Template.Spec.Volumes) != 1 {
		t.Errorf("%+v, %v", d.Spec, err)
	}
	if _, err := deployments.Get(t.Context(), "machine-controller-kubemark", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the provider still exists: %v", err)
	}
	if own, err = secrets.Get(t.Context(), own.Name, metav1.GetOptions{}); err != nil || string(own.Data["tls.crt"]) != "x" {
		t.Errorf("the upgrade has changed the certificate that the process made: %v, %v", own.Data, err)
	}

	if _, err := action.NewUninstall(&helm).Run("millwright"); err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Get(t.Context(), "machine-controller-manager", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment still exists: %v", err)
	}
	groups, err := env.Client.Discovery().ServerResourcesForGroupVersion("machine.sapcloud.io/v1alpha1")
	if err != nil || len(groups.APIResources) == 0 {
		t.Errorf("the CRDs were deleted: %v", err)
	}
}
