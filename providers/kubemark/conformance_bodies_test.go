package kubemark_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// nodes is the part of an API server that serves Node objects.
type nodes struct {
	mu  sync.Mutex
	all map[string]types.UID
	of  map[string]string
}

const instanceAnnotation = "millwright.dev/kubemark-instance"

func (n *nodes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := path.Base(r.URL.Path)
	var sent corev1.Node
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			answer(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		name = sent.Name
	}
	_, there := n.all[name]
	switch {
	case r.Method == http.MethodPost && there:
		answer(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	case r.Method == http.MethodPost:
		n.all[name], n.of[name] = uuid.NewUUID(), sent.Annotations[instanceAnnotation]
	case !there:
		answer(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method == http.MethodDelete:
		delete(n.all, name)
		answer(w, http.StatusOK, "")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: n.all[name], Annotations: map[string]string{instanceAnnotation: n.of[name]},
		},
	})
}

func answer(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: int32(code), Reason: reason}
	if code >= http.StatusBadRequest {
		status.Status = metav1.StatusFailure
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status)
}

// TestConformanceKwok: the body of an instance is a Node object.
func TestConformanceKwok(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		target := httptest.NewServer(&nodes{all: map[string]types.UID{}, of: map[string]string{}})
		t.Cleanup(target.Close)
		h := started(t, kubemark.Config{Backend: kubemark.Kwok, Target: &rest.Config{Host: target.URL, QPS: -1}, Dir: t.TempDir()}).harness()
		// Kwok is the back end that is not configured in other tests.
		h.BadSpecs = slices.DeleteFunc(h.BadSpecs, func(bad providertest.BadSpec) bool { return bad.Field == "backend" })
		return h
	})
}

// started is a cloud on which every start is that of a new process.
func started(t *testing.T, config kubemark.Config) cloud {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	config.Clock, config.PageSize = clk, pageSize
	return cloud{clock: clk, start: func() *kubemark.Provider {
		p, err := kubemark.New(config)
		if err != nil {
			panic(err) // the suite starts providers on goroutines of its own
		}
		return p
	}}
}

// TestConformanceHollow: the body of an instance is a process.
func TestConformanceHollow(t *testing.T) {
	t.Setenv(roleVariable, "kubelet")
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		config := kubemark.Config{Backend: kubemark.Hollow, HollowBinary: os.Args[0], NodeIP: "192.0.2.7", Dir: t.TempDir()}
		c := started(t, config)
		t.Cleanup(func() {
			if err := kubemark.Halt(context.Background(), config.Dir); err != nil {
				t.Error(err)
			}
		})
		h := c.harness()
		h.UserData = []byte(bootstrapKubeconfig)
		h.Advance = func(d time.Duration) {
			c.clock.Step(d)
			time.Sleep(5 * time.Millisecond) // a process takes real time to end
		}
		return h
	})
}
