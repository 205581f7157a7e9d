// Package kwok gives simulated instances a cheap body: a Node object, which kwok keeps Ready. It is for
// hundreds of instances; user data is ignored.
package kwok

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// The annotations and labels that kwok reads, and those that identify the instance of a Node.
const (
	fakeAnnotation     = "kwok.x-k8s.io/node"
	instanceAnnotation = "double.millwright.dev/instance"
)

// Hypervisor creates a Node for each guest. It implements [double.Hypervisor].
type Hypervisor struct {
	server string
	client *http.Client

	pause time.Duration // between reads of a Node that must stay silent

	mu    sync.Mutex
	nodes map[string]string // names by instance
}

var _ double.Hypervisor = &Hypervisor{}

// New returns a hypervisor whose nodes are in the cluster of the kubeconfig, which must have a client
// certificate.
func New(kubeconfig string) (*Hypervisor, error) {
	raw, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	var c config
	if err := yaml.Unmarshal(raw, &c); err != nil || len(c.Clusters) == 0 || len(c.Users) == 0 {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, errors.Join(err, errNoCluster))
	}
	client, err := c.client()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	return &Hypervisor{server: c.Clusters[0].Cluster.Server, client: client, pause: 5 * time.Second, nodes: map[string]string{}}, nil
}

var errNoCluster = errors.New("it has no cluster or no user")

// config has the used parts of a kubeconfig.
type config struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Certificate string `json:"client-certificate-data"`
			Key         string `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

func (c config) client() (*http.Client, error) {
	var parts [3][]byte
	for n, text := range []string{c.Clusters[0].Cluster.CA, c.Users[0].User.Certificate, c.Users[0].User.Key} {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		parts[n] = raw
	}
	pair, err := tls.X509KeyPair(parts[1], parts[2])
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(parts[0])
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}}, nil
}

// Start implements [double.Hypervisor].
func (h *Hypervisor) Start(ctx context.Context, g double.Guest) error {
	status, err := h.call(ctx, http.MethodPost, "", "application/json", node(g))
	if status == http.StatusConflict {
		err = h.again(ctx, g)
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nodes[g.ID] = g.NodeName
	return nil
}

// again lets kwok manage the Node of an earlier boot of the guest. A Node of another instance with that name
// blocks it: the instance joins after that Node has been deleted.
func (h *Hypervisor) again(ctx context.Context, g double.Guest) error {
	_, err := h.call(ctx, http.MethodPatch, "/"+g.NodeName, "application/json-patch+json", []map[string]any{
		mine(g.ID), {"op": "add", "path": pointer(fakeAnnotation), "value": "fake"},
	})
	return err
}

// mine is a test operation of a JSON patch: the Node belongs to the instance.
func mine(id string) map[string]any {
	return map[string]any{"op": "test", "path": pointer(instanceAnnotation), "value": id}
}

// pointer is the JSON pointer of an annotation.
func pointer(annotation string) string {
	return "/metadata/annotations/" + strings.ReplaceAll(annotation, "/", "~1")
}

// Stop implements [double.Hypervisor]: the Node stays, and is no longer Ready.
func (h *Hypervisor) Stop(id string) {
	h.mu.Lock()
	name, ok := h.nodes[id]
	delete(h.nodes, id)
	h.mu.Unlock()
	if ok {
		go h.silence(id, name)
	}
}

// silence keeps a Node silent until it is deleted, belongs to another instance, or its own instance boots
// again. Once is not enough: kwok renews the lease of a Node that it no longer manages, and marks it Ready
// minutes later.
func (h *Hypervisor) silence(id, name string) {
	for h.ended(id) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		speaks, err := h.hush(ctx, id, name)
		cancel()
		if err == nil && !speaks {
			return
		}
		time.Sleep(h.pause)
	}
}

func (h *Hypervisor) ended(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nodes[id] == ""
}

// hush marks the Node of an instance as not ready. speaks is false if there is no Node that could become
// ready again.
func (h *Hypervisor) hush(ctx context.Context, id, name string) (speaks bool, err error) {
	var n struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	}
	status, err := h.ask(ctx, http.MethodGet, "/"+name, "", nil, &n)
	switch {
	case status == http.StatusNotFound:
		return false, nil
	case err != nil:
		return true, err
	case n.Metadata.Annotations[instanceAnnotation] != id:
		return false, nil
	}
	if _, played := n.Metadata.Annotations[fakeAnnotation]; played {
		_, err := h.call(ctx, http.MethodPatch, "/"+name, "application/json-patch+json", []map[string]any{
			mine(id), {"op": "remove", "path": pointer(fakeAnnotation)},
		})
		if err != nil {
			return true, err
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status == "Unknown" {
			return true, nil
		}
	}
	// The node lifecycle controller would write the same 40 s later.
	now := time.Now().UTC().Format(time.RFC3339)
	_, err = h.call(ctx, http.MethodPatch, "/"+name+"/status", "application/strategic-merge-patch+json", map[string]any{"status": map[string]any{
		"conditions": []map[string]string{{
			"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
			"lastHeartbeatTime": now, "lastTransitionTime": now,
		}},
	}})
	return true, err
}

func node(g double.Guest) map[string]any {
	labels := map[string]string{"kubernetes.io/hostname": g.NodeName, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
	for key, value := range map[string]string{
		"topology.kubernetes.io/region": g.Region, "topology.kubernetes.io/zone": g.Zone, "node.kubernetes.io/instance-type": g.Type,
	} {
		if value != "" {
			labels[key] = value
		}
	}
	resources := map[string]string{
		"cpu": strconv.FormatInt(max(g.VCPUs, 1), 10), "memory": strconv.FormatInt(max(g.MemoryMiB, 1024), 10) + "Mi", "pods": "110",
	}
	addresses := []map[string]string{{"type": "Hostname", "address": g.NodeName}}
	for _, a := range g.Addresses {
		addresses = append(addresses, map[string]string{"type": "InternalIP", "address": a})
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{
			"name": g.NodeName, "labels": labels,
			"annotations": map[string]string{fakeAnnotation: "fake", instanceAnnotation: g.ID},
		},
		"spec": map[string]any{"providerID": g.ProviderID},
		"status": map[string]any{
			"capacity": resources, "allocatable": resources, "addresses": addresses, "phase": "Running",
			"nodeInfo": map[string]string{"kubeletVersion": "fake", "operatingSystem": "linux", "architecture": "amd64"},
		},
	}
}

// call makes a request about nodes. It returns the status of the answer, 0 without one.
func (h *Hypervisor) call(ctx context.Context, method, path, kind string, body any) (status int, err error) {
	return h.ask(ctx, method, path, kind, body, nil)
}

// ask makes a call, and decodes the answer.
func (h *Hypervisor) ask(ctx context.Context, method, path, kind string, body, into any) (status int, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, method, h.server+"/api/v1/nodes"+path, bytes.NewReader(raw))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", kind)
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case err != nil:
	case answer.StatusCode >= http.StatusBadRequest:
		err = fmt.Errorf("%s node%s: %s: %s", method, path, answer.Status, said)
	case into != nil:
		err = json.Unmarshal(said, into)
	}
	return answer.StatusCode, err
}
