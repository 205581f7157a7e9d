// Package node has the effects on the cluster that machines join: finding a
// machine's node, keeping its metadata in step, cordoning, draining and
// deleting it, and the bootstrap tokens with which nodes introduce themselves.
//
// What to do is decided elsewhere (internal/engine/drain, internal/engine/nodemeta, internal/engine/bootstrap);
// here it is done, one observation and one effect at a time. Nothing waits.
//
// A nil *[Cluster] stands for "there is no such cluster": machines are then
// only instances. All methods accept it: nothing is found, nothing has to be
// done, every drain is done, no token is needed.
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
	// Client reads from a cache, which must have the indexes of
	// [SetupIndexes], and writes.
	Client client.Client
	// Live reads past the cache. It is asked only where a stale answer would
	// do harm.
	Live  client.Reader
	Clock clock.PassiveClock
	// Identity tells the cluster from others, Deletions are the nodes of it that were seen to
	// be deleted.
	Identity  *Identity
	Deletions *Deletions
	// Random is where token secrets come from; nil: crypto/rand.
	Random io.Reader
	// Volumes knows how nodes list volumes of which their PersistentVolumes do not tell; may
	// be nil.
	Volumes VolumeNamer

	mu     sync.Mutex
	memory map[types.UID]memory // of drains, by node UID
}

// New returns the cluster behind the clients.
func New(c client.Client, live client.Reader, clk clock.PassiveClock) *Cluster {
	return &Cluster{Client: c, Live: live, Clock: clk, Identity: &Identity{Live: live, Clock: clk}, Deletions: &Deletions{Clock: clk}}
}

// Exists reports whether there is a cluster to join.
func (c *Cluster) Exists() bool { return c != nil }
