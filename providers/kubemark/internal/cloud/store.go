package cloud

// DependantKind is what a dependant is.
type DependantKind string

// The kinds of dependants. The network interface is what makes a node name
// unique in its cluster.
const (
	NIC  DependantKind = "nic"
	Disk DependantKind = "disk"
)

// Dependant is something that was made for an instance and costs money by
// itself. It is there before its instance is, and goes before it goes.
type Dependant struct {
	Kind DependantKind `json:"kind"`
	// Name is unique for its kind in the cluster.
	Name string `json:"name"`
	// Key is that of the machine, Instance the ID of the instance.
	Key string `json:"key"`
	// UID is that of the machine, empty if the instance has none.
	UID      string `json:"uid,omitempty"`
	Instance string `json:"instance"`
	// Owner and Namespace are those of the instance.
	Owner     string `json:"owner,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// Store keeps records and dependants, by cluster. Its methods are safe for
// concurrent use; what is read and then written needs the machine's lock.
type Store interface {
	// Lock waits for the lock of the machine with the key and holds it against
	// all users of the store, in other processes too. It is free again when
	// its holder dies. A holder takes no other machine's lock: two machines
	// may share one.
	Lock(cluster, key string) (unlock func(), err error)
	// LockCluster is a lock for the cluster as a whole. It may be taken by a
	// holder of a machine's lock, not the other way round.
	LockCluster(cluster string) (unlock func(), err error)
	// Get returns the records of a machine, by ID.
	Get(cluster, key string) ([]Record, error)
	// Put writes a record, which is then seen by all or, after a crash, not
	// at all.
	Put(r Record) error
	// Drop forgets a record; it is no error if there is none.
	Drop(r Record) error
	// Page returns records ordered by key, after the machine with the key
	// after. It returns all records of at most limit machines, and the key to
	// go on with: empty when that was all.
	Page(cluster, after string, limit int) (records []Record, next string, err error)
	// Clusters returns the names of all clusters that have, or had, instances,
	// in order.
	Clusters() ([]string, error)
	// Claim makes a dependant, unless there is one with this kind and name
	// already, and returns the one that is there afterwards.
	Claim(cluster string, d Dependant) (Dependant, error)
	// Holder returns the dependant of that kind and name, if there is one.
	Holder(cluster string, kind DependantKind, name string) (Dependant, bool, error)
	// Release removes the dependant; it is no error if there is none.
	Release(cluster string, d Dependant) error
	// Dependants returns all dependants of the cluster, by kind and name.
	Dependants(cluster string) ([]Dependant, error)
	// Account is a name that no other store has. It is made with the store, and
	// kept with what is in it.
	Account() (string, error)
	// Password is what callers have to know; empty when they need nothing.
	Password() (string, error)
	// SetPassword changes it.
	SetPassword(password string) error
}
