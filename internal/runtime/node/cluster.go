// Package node has the effects on the cluster that machines join: finding a machine's node, updating its
// metadata, cordoning, draining and deleting it, and the bootstrap tokens with which nodes introduce
// themselves.
//
// Decisions are made elsewhere (internal/engine/drain, internal/engine/nodemeta, internal/engine/bootstrap);
// this package carries them out, one observation and one effect at a time. No method waits.
//
// A nil *[Cluster] stands for "there is no such cluster": machines are then only instances. All methods
// accept it: nothing is found, nothing has to be done, every drain is done, no token is needed.
package node

import (
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumes;persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kube-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=secrets,verbs=get;create;patch;delete

// Cluster is the cluster that machines join. Its methods are safe for
// concurrent use.
type Cluster struct {
	// Client reads from a cache, which must have the indexes of [SetupIndexes], and writes.
	Client client.Client
	// Live reads past the cache. It is used only if a stale answer would be harmful.
	Live  client.Reader
	Clock clock.PassiveClock
	// Identity identifies the cluster, Deletions are its nodes whose deletion was observed.
	Identity  *Identity
	Deletions *Deletions
	// Random is the source of token secrets; nil: crypto/rand.
	Random io.Reader
	// Volumes returns the names under which nodes list volumes, for PersistentVolumes that do not have them;
	// may be nil.
	Volumes VolumeNamer

	mu     sync.Mutex
	memory map[types.UID]memory // of drains, by node UID
}

// New returns the cluster of the clients.
func New(c client.Client, live client.Reader, clk clock.PassiveClock) *Cluster {
	return &Cluster{Client: c, Live: live, Clock: clk, Identity: &Identity{Live: live, Clock: clk}, Deletions: &Deletions{Clock: clk}}
}

// Exists reports whether there is a cluster to join.
func (c *Cluster) Exists() bool { return c != nil }
