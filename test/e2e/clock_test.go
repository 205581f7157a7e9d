package e2e

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
)

// TestServersTellTheTime: a real API server sends its time with every response, including watches and refusals. So a process
// notices that its own clock is an hour ahead.
func TestServersTellTheTime(t *testing.T) {
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", hollow(t).Plane.KubeconfigPath)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(kubernetes.Interface) error{
		"list": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			return err
		},
		"watch": func(c kubernetes.Interface) error {
			w, err := c.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
			if err == nil {
				w.Stop()
			}
			return err
		},
		"not found": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Get(t.Context(), "unknown", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return err
			}
			return nil
		},
		"refused": func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Nodes().Get(t.Context(), "unknown", metav1.GetOptions{})
			if !apierrors.IsForbidden(err) {
				return err
			}
			return nil
		},
	} {
		c := rest.CopyConfig(config)
		if name == "refused" {
			c.Impersonate.UserName = "unknown"
		}
		clk := serverclock.New(testclock.NewFakeClock(time.Now().Add(time.Hour)), logr.Discard())
		c.Wrap(clk.Wrap)
		if err := ask(kubernetes.NewForConfigOrDie(c)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if wrong := time.Until(clk.Now()).Abs(); wrong > time.Minute {
			t.Errorf("%s: %v off", name, wrong)
		}
	}
}
