package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider/admit"
)

func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{})) }

// never accepts no spec, and says where the flags say that the cluster runs.
type never struct{}

func (never) Kinds() []schema.GroupVersionKind        { return nil }
func (never) Default(a admit.Request) ([]byte, error) { return a.Spec, nil }
func (never) Admit(a admit.Request) ([]string, field.ErrorList) {
	return nil, field.ErrorList{field.Forbidden(a.Path.Child("region"), fmt.Sprintf("not in %s of %s with %v", a.Platform.Region, a.Platform.ID, a.Platform.Gates["Gate"]))}
}

// TestProgramServes: the program answers API servers by its rules and flags, with a certificate that it makes itself, keeps sets, and
// shows its metrics to those who may read them.
func TestProgramServes(t *testing.T) {
	env := devplanetest.Start(t)
	namespace := devplanetest.Namespace(t)
	c, err := client.New(env.Config, client.Options{Scheme: run.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	port, metricsPort := devplanetest.FreePort(t), devplanetest.FreePort(t)
	_, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	for i := range validating[0].Webhooks {
		call := &validating[0].Webhooks[i].ClientConfig
		call.URL, call.Service = ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", port, *call.Service.Path)), nil
	}
	if err := c.Create(t.Context(), validating[0]); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := env.Kubeconfig("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, SetController(map[string]admit.Admitter{"Fake": never{}}),
		"--kubeconfig="+file, "--namespace="+namespace, "--leader-elect=false", fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", metricsPort), "--metrics-secure", "--profiling", "--health-addr=", "--feature-gates=Gate=true",
		fmt.Sprintf("--webhook-port=%d", port), "--webhook-cert-dir="+t.TempDir(), "--platform=Fake", "--infrastructure-id=cluster-x", "--platform-region=r")

	set := &machinev1.MachineSet{}
	set.Namespace, set.Name = namespace, "s"
	set.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{}`)}
	const want = `admission webhook "validation.machineset.machine.openshift.io" denied the request: providerSpec.region: Forbidden: not in r of cluster-x with true`
	eventually(t, func() error {
		err := c.Create(t.Context(), set.DeepCopy(), client.DryRunAll)
		if err == nil || err.Error() != want {
			return fmt.Errorf("the answer is %w", errors.Join(err, errors.New("want "+want)))
		}
		return nil
	})
	if err := c.Delete(t.Context(), validating[0]); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return c.Create(t.Context(), set) })
	eventually(t, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		if set.Status.ErrorMessage == nil || !strings.Contains(*set.Status.ErrorMessage, "empty selector") {
			return fmt.Errorf("the set is not looked after: %+v", set.Status)
		}
		return nil
	})
	readMetrics(t, env, namespace, metricsPort)
}

// start runs the program until the test ends.
func start(t *testing.T, p Program, args ...string) {
	t.Helper()
	command := p.Command()
	command.SetArgs(args)
	devplanetest.Run(t, command.ExecuteContext)
}

func eventually(t *testing.T, f func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatal(err)
}
