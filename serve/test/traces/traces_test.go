// Package traces runs the programs for sets and for machines as separate processes with a real API server. It reads what they
// report about machines: spans, as a collector of OpenTelemetry receives them, and lines of JSON.
package traces

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/program"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
	"github.com/millwright-dev/millwright/serve"
)

// The names of the programs. The binary of this test runs as the program whose name it has.
const (
	ofSets     = "machine-controller-manager"
	ofMachines = "machine-controller-kubemark"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case ofSets:
		program.Main(program.ControllerManager(nil))
	case ofMachines:
		serve.Main(serve.Plugin{Name: "kubemark", New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return kubemark.New(kubemark.Config{Backend: kubemark.Memory, Target: e.Target, Clock: e.Clock})
		}})
	default:
		os.Exit(devplanetest.Main(m, devplanetest.Options{}))
	}
}

// span is a received span, with its sender.
type span struct {
	*tracepb.Span
	service string
}

func (s span) id() string { return fmt.Sprintf("%x", s.SpanId) }

func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// collector receives spans.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	raw   []byte
	spans []span
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var data tracepb.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(raw, &data) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, raw...)
	for _, of := range data.ResourceSpans {
		service := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, service})
			}
		}
	}
}

func (c *collector) took() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// stage is both programs in one namespace.
type stage struct {
	*testing.T
	ns     string
	api    client.Client
	config string
	// ports has the ports on which the programs serve metrics over HTTP, by the name of the program.
	ports map[string]int
	// logs has the paths of the logs, by the name of the program.
	logs map[string]string
	stop func()
}

// open starts both programs with the environment variables, and does not wait until they are ready.
func open(t *testing.T, environment ...string) *stage {
	env := devplanetest.Start(t)
	s := &stage{T: t, ns: devplanetest.Namespace(t), config: filepath.Join(t.TempDir(), "kubeconfig"), logs: map[string]string{}, ports: map[string]int{}}
	var err error
	s.api, err = client.New(env.Config, client.Options{Scheme: run.Scheme()})
	s.must("make a client", err)
	kubeconfig, err := env.Kubeconfig("program", "system:masters")
	s.must("make a kubeconfig", err)
	s.must("write it", os.WriteFile(s.config, kubeconfig, 0o600))
	var stops []func()
	for _, name := range []string{ofSets, ofMachines} {
		stops = append(stops, s.start(name, environment))
	}
	s.stop = sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
	})
	t.Cleanup(s.stop)
	return s
}

// start starts a program, and returns a function that stops it.
func (s *stage) start(name string, environment []string) (stop func()) {
	s.Helper()
	self, err := os.Executable()
	s.must("find this program", err)
	s.logs[name] = filepath.Join(s.TempDir(), name)
	log, err := os.Create(s.logs[name])
	s.must("make a log", err)
	s.ports[name] = devplanetest.FreePort(s)
	c := exec.Command(self)
	c.Args = []string{
		name, "--namespace=" + s.ns, "--target-kubeconfig=" + s.config, "--leader-elect=false", "--logging-format=json", "-v=2",
		fmt.Sprint("--metrics-bind-address=127.0.0.1:", s.ports[name]), "--profiling", "--health-addr=",
	}
	if name == ofMachines {
		c.Args = append(c.Args, "--approve-csrs=false")
	}
	c.Env, c.Stderr, c.Stdout = append(os.Environ(), environment...), log, log
	s.must("start "+name, c.Start())
	return func() {
		began := time.Now()
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			s.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			s.Errorf("%s took %v to end", name, took)
		}
	}
}

func (s *stage) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// within limits the time of the API server and the programs for one step.
const within = 60 * time.Second

// eventually repeats a check until it returns an empty string.
func (s *stage) eventually(what string, missing func() string) {
	s.Helper()
	last := ""
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if last = missing(); last == "" {
			return
		}
	}
	for name, path := range s.logs {
		raw, _ := os.ReadFile(path)
		s.Logf("%s:\n%s", name, raw[max(0, len(raw)-4000):])
	}
	s.Fatalf("not within %v: %s: %s", within, what, last)
}

const secret = "hunter2-boot"

// sets creates a set of one machine in each API.
func (s *stage) sets() []client.Object {
	s.Helper()
	meta := metav1.ObjectMeta{Namespace: s.ns, Name: "pool"}
	labels := map[string]string{"pool": s.ns, "machine.openshift.io/cluster-api-cluster": s.ns}
	o, g := &machinev1.MachineSet{ObjectMeta: meta}, &v1alpha1.MachineSet{ObjectMeta: meta}
	o.Spec.Replicas, o.Spec.Selector = ptr.To[int32](1), metav1.LabelSelector{MatchLabels: map[string]string{"pool": s.ns}}
	o.Spec.Template.Labels = labels
	o.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig","numCores":8}`),
	}
	g.Spec.Replicas, g.Spec.Selector = 1, &metav1.LabelSelector{MatchLabels: map[string]string{"pool": s.ns}}
	g.Spec.Template.Labels = labels
	g.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"userData": []byte(secret)}},
		&v1alpha1.MachineClass{
			ObjectMeta: meta, ProviderSpec: runtime.RawExtension{Raw: []byte("{}")}, Provider: "kubemark",
			SecretRef: &corev1.SecretReference{Namespace: s.ns, Name: "pool"},
		}, o, g,
	} {
		s.must("make an object", s.api.Create(s.Context(), o))
	}
	return []client.Object{o, g}
}

// machine is a machine with the fields that both APIs have.
type machine struct{ uid, key, providerID string }

func (s *stage) machines() (all []machine) {
	s.Helper()
	var o machinev1.MachineList
	var g v1alpha1.MachineList
	s.must("list", s.api.List(s.Context(), &o, client.InNamespace(s.ns)))
	s.must("list", s.api.List(s.Context(), &g, client.InNamespace(s.ns)))
	for _, m := range o.Items {
		all = append(all, machine{string(m.UID), s.ns + "/" + m.Name, ptr.Deref(m.Spec.ProviderID, "")})
	}
	for _, m := range g.Items {
		all = append(all, machine{string(m.UID), s.ns + "/" + m.Name, m.Spec.ProviderID})
	}
	return all
}

// lives creates a machine in each API with a set, and deletes the machines with a scale-down of the sets.
func (s *stage) lives() (lived []machine) {
	s.Helper()
	sets := s.sets()
	s.eventually("both sets have a machine with an instance", func() string {
		lived = s.machines()
		if len(lived) != 2 || lived[0].providerID == "" || lived[1].providerID == "" {
			return fmt.Sprint(lived)
		}
		return ""
	})
	for _, set := range sets {
		s.must("scale", s.api.Patch(s.Context(), set, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`))))
	}
	s.eventually("the machines are deleted", func() string {
		if left := s.machines(); len(left) > 0 {
			return fmt.Sprint(left)
		}
		return ""
	})
	return lived
}

// TestLives: one trace has the spans of both programs about a machine. The ID of the trace is the UID of the machine.
func TestLives(t *testing.T) {
	c := newCollector(t)
	s := open(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=200")
	lived := s.lives()
	s.stop()
	all := c.took()
	for _, m := range lived {
		id := strings.ReplaceAll(m.uid, "-", "")
		spans, names := map[string]span{}, map[string]int{}
		for _, one := range all {
			if fmt.Sprintf("%x", one.TraceId) == id {
				spans[one.id()] = one
				names[one.service+": "+one.Name]++
			}
		}
		t.Logf("%s: %v", m.key, names)
		for _, want := range []string{
			ofSets + ": MachineSet creates", ofMachines + ": Machine", ofMachines + ": AddFinalizer", ofMachines + ": Create",
			ofMachines + ": provider create", ofMachines + ": Until the instance runs", ofSets + ": MachineSet deletes",
			ofMachines + ": Terminate", ofMachines + ": provider delete", ofMachines + ": RemoveFinalizer", ofMachines + ": Deletion", ofMachines + ": Life",
		} {
			if names[want] == 0 {
				t.Errorf("%s: no span %q among %v", m.key, want, slices.Sorted(maps.Keys(names)))
			}
		}
		if names[ofMachines+": Machine"] > 1 || names[ofMachines+": Life"] > 1 {
			t.Errorf("%s: more than one life: %v", m.key, names)
		}
		for _, one := range spans {
			if _, there := spans[fmt.Sprintf("%x", one.ParentSpanId)]; !there && one.Name != "Machine" {
				t.Errorf("%s: span %q has no parent", m.key, one.Name)
			}
			if at := one.attribute("millwright.machine"); at != m.key && (at != "" || one.Name == "Pass") {
				t.Errorf("%s: span %q is about %q", m.key, one.Name, at)
			}
			if one.Name == "Life" && (one.attribute("millwright.providerID") != m.providerID || one.attribute("millwright.set") != s.ns+"/pool") {
				t.Errorf("%s: the span Life has the attributes %v", m.key, one.Attributes)
			}
		}
		all = slices.DeleteFunc(all, func(one span) bool { return fmt.Sprintf("%x", one.TraceId) == id })
	}
	if len(all) > 0 {
		t.Errorf("%d spans are about no machine, the first %v", len(all), all[0])
	}
	if strings.Contains(string(c.raw), secret) {
		t.Error("the spans have user data")
	}
	s.lines(lived)
}

// lines checks the logs of the programs: lines of JSON without duplicate keys, which name the machine or the set of the
// reconcile.
func (s *stage) lines(lived []machine) {
	s.Helper()
	known := map[string]bool{}
	for _, name := range []string{ofSets, ofMachines} {
		raw, err := os.ReadFile(s.logs[name])
		s.must("read a log", err)
		for line := range strings.Lines(string(raw)) {
			said, err := keys(line)
			if err != nil {
				s.Errorf("%s: %v: %s", name, err, line)
				continue
			}
			about, pass := said["controller"], said["reconcileID"] != ""
			switch {
			case pass && strings.HasPrefix(about, "machine.") && (!strings.HasPrefix(said["machine"], s.ns+"/pool-") || said["set"] != s.ns+"/pool"):
				s.Errorf("%s: a line does not name its machine: %s", name, line)
			case pass && strings.HasPrefix(about, "machineset.") && said["set"] != s.ns+"/pool":
				s.Errorf("%s: a line does not name its set: %s", name, line)
			case pass && said["providerID"] != "":
				known[said["machine"]+" "+said["providerID"]] = true
			}
			if strings.Contains(line, secret) {
				s.Errorf("%s: user data in the log: %s", name, line)
			}
		}
	}
	for _, m := range lived {
		if !known[m.key+" "+m.providerID] {
			s.Errorf("no line says that %s has %s: %v", m.key, m.providerID, known)
		}
	}
}

// keys returns the keys of a line of JSON, with their values as text. A duplicate key is an error.
func keys(line string) (map[string]string, error) {
	out := map[string]string{}
	d := json.NewDecoder(strings.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("no JSON object: %v, %w", open, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		name := fmt.Sprint(key)
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		out[name] = fmt.Sprint(value)
	}
	return out, nil
}

// setVerbosity changes the log level of the program for machines.
func (s *stage) setVerbosity(v int) {
	s.Helper()
	s.eventually("the program's level is changed", func() string {
		r, err := http.NewRequestWithContext(s.Context(), http.MethodPut, fmt.Sprintf("http://127.0.0.1:%d/debug/flags/v", s.ports[ofMachines]), strings.NewReader(fmt.Sprint(v)))
		s.must("make a request", err)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err.Error()
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.Status
		}
		return ""
	})
}

// TestDeadCollector: a collector that accepts requests and never responds does not affect machines. The program logs
// the problem once.
func TestDeadCollector(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	s := open(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_EXPORTER_OTLP_TIMEOUT=500")
	s.setVerbosity(5)
	s.lives()
	raw, err := os.ReadFile(s.logs[ofMachines])
	s.must("read a log", err)
	if !strings.Contains(string(raw), `"msg":"Reconciling"`) {
		t.Error("the log has no line of the log level that changed at run time")
	}
	s.eventually("people hear of it", func() string {
		raw, err := os.ReadFile(s.logs[ofMachines])
		s.must("read a log", err)
		if n := strings.Count(string(raw), "Traces cannot be sent"); n != 1 {
			return fmt.Sprint(n, " times")
		}
		return ""
	})
}
