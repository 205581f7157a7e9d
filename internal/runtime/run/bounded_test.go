package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestNoRequestHangs: what stands in front of an API server takes requests and never
// answers, or begins to and never ends. Whatever client it was, it gets an error in
// time; a watch lasts.
func TestNoRequestHangs(t *testing.T) {
	const limit = 100 * time.Millisecond
	ended := make(chan struct{})
	var begins atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if begins.Load() || r.URL.Query().Get("watch") == "true" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte(`{"kind":`))
			w.(http.Flusher).Flush()
		}
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(ended)
	config := &rest.Config{Host: server.URL}
	bound(config, limit)
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.New(config, client.Options{Scheme: Scheme(), Mapper: podMapper()})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	for name, call := range map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { return live.Get(ctx, client.ObjectKeyFromObject(pod), pod) },
		"create": func(ctx context.Context) error { return live.Create(ctx, pod.DeepCopy()) },
		"list": func(ctx context.Context) error {
			_, err := set.CoreV1().Pods("a").List(ctx, metav1.ListOptions{})
			return err
		},
	} {
		for _, answered := range []bool{false, true} {
			begins.Store(answered)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if err := call(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("%s, of which the answer begins: %v: %v, the caller's patience: %v", name, answered, err, ctx.Err())
			}
			cancel()
		}
	}
	w, err := set.CoreV1().Pods("a").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	defer w.Stop()
	select {
	case e, ok := <-w.ResultChan():
		t.Errorf("a watch ended: %v %v", e, ok)
	case <-time.After(4 * limit):
	}
}

// TestConfigsAreBounded: every client of a process is made from these.
func TestConfigsAreBounded(t *testing.T) {
	f := &Flags{TargetKubeconfig: kubeconfig(t), ControlKubeconfig: kubeconfig(t)}
	control, target, err := f.Configs()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*rest.Config{control, target} {
		if c.WrapTransport == nil {
			t.Fatalf("%s: requests have no deadline", c.Host)
		}
		if b, ok := c.WrapTransport(http.DefaultTransport).(bounded); !ok || b.limit != callTime {
			t.Errorf("%s: requests have no deadline", c.Host)
		}
	}
}

// podMapper knows pods without asking a server.
func podMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return m
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	err := clientcmd.WriteToFile(api.Config{
		Clusters: map[string]*api.Cluster{"a": {Server: "https://localhost:1"}},
		Contexts: map[string]*api.Context{"a": {Cluster: "a"}}, CurrentContext: "a",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
