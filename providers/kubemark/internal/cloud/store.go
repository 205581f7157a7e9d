package cloud

// DependantKind is the kind of a dependant.
type DependantKind string

// The kinds of dependants. The network interface makes a node name unique in its cluster.
const (
	NIC  DependantKind = "nic"
	Disk DependantKind = "disk"
)

// Dependant is a resource that belongs to an instance and costs money by itself. It is created before its
// instance, and deleted before it.
type Dependant struct {
	Kind DependantKind `json:"kind"`
	// Name is unique for its kind in the cluster.
	Name string `json:"name"`
	// Key is the key of the machine, Instance the ID of the instance.
	Key string `json:"key"`
	// UID is the UID of the machine, empty if the instance has none.
	UID      string `json:"uid,omitempty"`
	Instance string `json:"instance"`
	// Owner and Namespace are those of the instance.
	Owner     string `json:"owner,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// Store stores records and dependants, by cluster. Its methods are safe for concurrent use; to read and then
// write, hold the machine's lock.
type Store interface {
	// Lock waits for the lock of the machine with the key, and holds it against all users of the store, in
	// other processes too. The lock is released when its holder dies. A holder must not lock another machine:
	// two machines may share a lock.
	Lock(cluster, key string) (unlock func(), err error)
	// LockCluster locks the cluster as a whole. A holder of a machine's lock may call it, but not the other
	// way round.
	LockCluster(cluster string) (unlock func(), err error)
	// Get returns the records of a machine, by ID.
	Get(cluster, key string) ([]Record, error)
	// Put writes a record atomically.
	Put(r Record) error
	// Drop deletes a record; it is no error if the record does not exist.
	Drop(r Record) error
	// Page returns records ordered by key, starting after the machine with the key after. It returns all
	// records of at most limit machines, and the key to continue with; empty: there are no more.
	Page(cluster, after string, limit int) (records []Record, next string, err error)
	// Clusters returns the names of all clusters that have, or had, instances, in order.
	Clusters() ([]string, error)
	// Claim creates a dependant, unless one of this kind and name exists, and returns the existing one.
	Claim(cluster string, d Dependant) (Dependant, error)
	// Holder returns the dependant of that kind and name, if it exists.
	Holder(cluster string, kind DependantKind, name string) (Dependant, bool, error)
	// Release deletes the dependant; it is no error if it does not exist.
	Release(cluster string, d Dependant) error
	// Dependants returns all dependants of the cluster, by kind and name.
	Dependants(cluster string) ([]Dependant, error)
	// Account is a name that no other store has. It is created and stored with the store.
	Account() (string, error)
	// Password is the password that callers need; empty: they need none.
	Password() (string, error)
	// SetPassword changes the password.
	SetPassword(password string) error
}
