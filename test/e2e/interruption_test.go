package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/engine/interruption"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// metadataURL returns the metadata service of a machine's instance.
func (d dialect) metadataURL(t *testing.T, f *fleet.Fleet, node string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fleet.CloudDir(f.Dir), kubemark.MetadataFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "/" + d.cluster + "/" + node
}

// tell sets the announcement of the infrastructure about an instance.
func tell(t *testing.T, method, metadata, query string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, metadata+"/interruption?"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s: %s", method, r.URL, answer.Status)
	}
}

// kubelet returns the kubeconfig of the kubelet of a node.
func (d dialect) kubelet(t *testing.T, f *fleet.Fleet, node string) string {
	t.Helper()
	w, err := truthOf(f)
	if err != nil {
		t.Fatal(err)
	}
	instances, err := w.console.Instances(t.Context(), d.cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instances {
		if i.NodeName == node {
			return filepath.Join(fleet.CloudDir(f.Dir), "bodies", i.ID, "kubeconfig")
		}
	}
	t.Fatalf("node %s has no instance", node)
	return ""
}

// handle runs a termination handler for a node, as its DaemonSet does: with the identity of the kubelet, and with a proxy
// setting whose proxy does not answer.
func (d dialect) handle(t *testing.T, f *fleet.Fleet, node, cloud string) (end func()) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(bin, "termination-handler"), "--logtostderr=true", "--v=3", "--namespace="+d.namespace,
		"--node-name="+node, "--poll-interval-seconds=1", "--provider="+cloud, "--metadata-url="+d.metadataURL(t, f, node))
	kubeconfig := d.kubelet(t, f, node)
	c.Dir = filepath.Dir(kubeconfig) // the paths of its certificates are relative to this folder
	c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HTTP_PROXY=http://127.0.0.1:1")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error("the termination handler has ended by itself:", err)
		}
		if err := c.Wait(); err != nil {
			t.Error("the termination handler did not end well:", err)
		}
		_ = log.Close()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the termination handler of %s said:\n%s", node, said)
		}
	}
	t.Cleanup(end)
	return end
}

// shows waits until a node has a condition with the status, and returns it.
func shows(t *testing.T, f *fleet.Fleet, node string, is corev1.NodeConditionType, status corev1.ConditionStatus) (n *corev1.Node, found corev1.NodeCondition) {
	t.Helper()
	eventually(t, fmt.Sprintf("node %s shows %s %s", node, is, status), func(ctx context.Context) (string, error) {
		n = &corev1.Node{}
		if err := f.Client.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
			return "", err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == is && c.Status == status {
				found = c
				return "", nil
			}
		}
		return fmt.Sprintf("it shows %v", n.Status.Conditions), nil
	})
	return n, found
}

// The node reports the announcement of the cloud, in the words of each cloud, and removes it when the cloud withdraws it.
func TestInterruptionNotices(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	for cloud, d := range map[string]dialect{"aws": dialects[0], "azure": dialects[1], "gcp": dialects[0]} {
		t.Run(cloud, func(t *testing.T) {
			t.Parallel()
			node := "notice-" + cloud
			d.machine(t, f, node)
			metadata := d.metadataURL(t, f, node)
			end := d.handle(t, f, node, cloud)

			tell(t, http.MethodPost, metadata, "announce=maintenance&in=1h")
			_, early := shows(t, f, node, interruption.MaintenanceScheduled, corev1.ConditionTrue)
			if early.Reason != interruption.ReasonMaintenanceNotice || early.Message == "" {
				t.Errorf("maintenance is reported by %v", early)
			}
			tell(t, http.MethodPost, metadata, url.Values{"in": {"1h"}}.Encode())
			n, c := shows(t, f, node, "Terminating", corev1.ConditionTrue)
			if c.Reason != "TerminationRequested" || c.Message != "The cloud provider has marked this instance for termination" {
				t.Errorf("the interruption is reported by %v", c)
			}
			if _, err := time.Parse(time.RFC3339, n.Annotations[interruption.DeadlineAnnotation]); err != nil {
				t.Errorf("the deadline: %v", err)
			}
			tell(t, http.MethodDelete, metadata, "")
			if n, _ := shows(t, f, node, "Terminating", corev1.ConditionFalse); n.Annotations[interruption.DeadlineAnnotation] != "" {
				t.Error("the deadline stands although the instance stays")
			}
			shows(t, f, node, interruption.MaintenanceScheduled, corev1.ConditionFalse)
			end()
			if there := running(t, f, d.group, node, 1); there[0].Deleted {
				t.Error("the machine is under deletion without a request")
			}
		})
	}
}

// The whole path of an interruption: the cloud gives notice, the node reports it, the machine is replaced, and its node is
// drained before the cloud ends the instance.
func TestInterruption(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "spot-" + d.name
		if d.group == provider.OpenShift {
			check, err := os.ReadFile("../../config/termination-handler/machinehealthcheck.yaml")
			if err != nil {
				t.Fatal(err)
			}
			kubectl(t, f, string(check), "apply", "-f", "-")
			calm(t, f)
		}
		kubectl(t, f, manifest(t, "interruption-"+d.name+".yaml", name), "apply", "-f", "-")
		old := running(t, f, d.group, name, 1)[0]
		if d.group == provider.OpenShift {
			eventually(t, "the node has the label that the DaemonSet selects", func(ctx context.Context) (string, error) {
				var n corev1.Node
				err := f.Client.Get(ctx, client.ObjectKey{Name: old.Node}, &n)
				if _, ok := n.Labels["machine.openshift.io/interruptible-instance"]; !ok {
					return fmt.Sprintf("its labels are %v", n.Labels), err
				}
				return "", err
			})
		}
		kubectl(t, f, strings.ReplaceAll(manifest(t, "interruption-pod.yaml", name), "NODE", old.Node), "apply", "-f", "-")
		kubectl(t, f, "", "rollout", "status", "--timeout=30s", "deployment/"+name)
		d.handle(t, f, old.Node, map[string]string{provider.OpenShift: "aws", provider.Gardener: "azure"}[d.group])

		tell(t, http.MethodPost, d.metadataURL(t, f, old.Node), "in=2m")
		goes := time.Now().Add(2 * time.Minute)
		shows(t, f, old.Node, "Terminating", corev1.ConditionTrue)
		d.leaves(t, f, name, old)
		for _, m := range running(t, f, d.group, name, 1) {
			if m.UID == old.UID {
				t.Errorf("machine %s was not replaced", old.Name)
			}
		}
		d.gone(t, f, old.Name)
		if time.Now().After(goes) {
			t.Error("the instance ended before its node was drained")
		}
	})
}

// calm waits until the shipped health check acts, which it does not in its first minute.
func calm(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	eventually(t, "the health check believes its eyes", func(context.Context) (string, error) {
		said := kubectl(t, f, "", "-n", fleet.OpenShiftNamespace, "get", "machinehealthchecks.machine.openshift.io", "machine-api-termination-handler",
			"-o", `jsonpath={range .status.conditions[?(@.type=="Calm")]}{.status} {.message}{end}`)
		if strings.HasPrefix(said, "True") {
			return "", nil
		}
		return "Calm: " + said, nil
	})
}

// leaves waits until the pods of a deployment were evicted from a cordoned node while its replacement starts.
func (d dialect) leaves(t *testing.T, f *fleet.Fleet, name string, old fleet.Machine) {
	t.Helper()
	cordoned, evicted, replaced := false, false, false
	eventually(t, name+" cordoned, evicted, replaced", func(ctx context.Context) (string, error) {
		var n corev1.Node
		err := f.Client.Get(ctx, client.ObjectKey{Name: old.Node}, &n)
		cordoned = cordoned || n.Spec.Unschedulable
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		var pods corev1.PodList
		if err := f.Client.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": name}); err != nil {
			return "", err
		}
		here := 0
		for _, p := range pods.Items {
			// An ended pod may exist for longer than its node, until it is collected.
			if p.Spec.NodeName == old.Node && p.DeletionTimestamp == nil {
				here++
			}
		}
		evicted = evicted || here == 0
		all, err := machines(ctx, f, d.group, name)
		for _, m := range all {
			replaced = replaced || m.UID != old.UID
		}
		if cordoned && evicted && replaced {
			return "", err
		}
		return fmt.Sprintf("cordoned %t, evicted %t, replaced %t", cordoned, evicted, replaced), err
	})
}
