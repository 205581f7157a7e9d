package cloud

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Memory is a store in memory. Its answers have a stable order, and it starts no goroutine.
type Memory struct {
	mu       sync.Mutex
	locks    map[string]*sync.Mutex
	clusters map[string]*memoryCluster
	account  string
	password string
}

type memoryCluster struct {
	records    map[string][]Record
	dependants map[dependantName]Dependant
}

type dependantName struct {
	kind DependantKind
	name string
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{locks: map[string]*sync.Mutex{}, clusters: map[string]*memoryCluster{}, account: newAccount()}
}

// Lock implements [Store].
func (m *Memory) Lock(cluster, key string) (func(), error) {
	return m.lock(stripe(cluster + "/" + key))
}

// LockCluster implements [Store].
func (m *Memory) LockCluster(cluster string) (func(), error) {
	return m.lock("cluster-" + stripe(cluster))
}

func (m *Memory) lock(name string) (func(), error) {
	m.mu.Lock()
	l, ok := m.locks[name]
	if !ok {
		l = &sync.Mutex{}
		m.locks[name] = l
	}
	m.mu.Unlock()
	l.Lock()
	return l.Unlock, nil
}

// in runs f on the cluster while it holds the store's lock.
func (m *Memory) in(cluster string, f func(c *memoryCluster)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.clusters[cluster]
	if !ok {
		c = &memoryCluster{records: map[string][]Record{}, dependants: map[dependantName]Dependant{}}
		m.clusters[cluster] = c
	}
	f(c)
}

// Get implements [Store].
func (m *Memory) Get(cluster, key string) (out []Record, err error) {
	m.in(cluster, func(c *memoryCluster) { out = cloneAll(c.records[key]) })
	return out, nil
}

// Put implements [Store].
func (m *Memory) Put(r Record) error {
	m.in(r.Cluster, func(c *memoryCluster) {
		others := without(c.records[r.Key()], r.ID)
		c.records[r.Key()] = sortByID(append(others, r.clone()))
	})
	return nil
}

// Drop implements [Store].
func (m *Memory) Drop(r Record) error {
	m.in(r.Cluster, func(c *memoryCluster) {
		c.records[r.Key()] = without(c.records[r.Key()], r.ID)
		if len(c.records[r.Key()]) == 0 {
			delete(c.records, r.Key())
		}
	})
	return nil
}

// Page implements [Store].
func (m *Memory) Page(cluster, after string, limit int) (out []Record, next string, err error) {
	m.in(cluster, func(c *memoryCluster) {
		var keys []string
		keys, next = pageOf(slices.Sorted(maps.Keys(c.records)), after, limit)
		for _, key := range keys {
			out = append(out, cloneAll(c.records[key])...)
		}
	})
	return out, next, nil
}

// Clusters implements [Store].
func (m *Memory) Clusters() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name, c := range m.clusters {
		if len(c.records) > 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Claim implements [Store].
func (m *Memory) Claim(cluster string, d Dependant) (held Dependant, err error) {
	m.in(cluster, func(c *memoryCluster) {
		name := dependantName{d.Kind, d.Name}
		if _, taken := c.dependants[name]; !taken {
			c.dependants[name] = d
		}
		held = c.dependants[name]
	})
	return held, nil
}

// Holder implements [Store].
func (m *Memory) Holder(cluster string, kind DependantKind, name string) (d Dependant, ok bool, err error) {
	m.in(cluster, func(c *memoryCluster) { d, ok = c.dependants[dependantName{kind, name}] })
	return d, ok, nil
}

// Release implements [Store].
func (m *Memory) Release(cluster string, d Dependant) error {
	m.in(cluster, func(c *memoryCluster) { delete(c.dependants, dependantName{d.Kind, d.Name}) })
	return nil
}

// Dependants implements [Store].
func (m *Memory) Dependants(cluster string) (out []Dependant, err error) {
	m.in(cluster, func(c *memoryCluster) { out = slices.Collect(maps.Values(c.dependants)) })
	slices.SortFunc(out, compareDependants)
	return out, nil
}

// Account implements [Store].
func (m *Memory) Account() (string, error) { return m.account, nil }

// Password implements [Store].
func (m *Memory) Password() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.password, nil
}

// SetPassword implements [Store].
func (m *Memory) SetPassword(password string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.password = password
	return nil
}

func compareDependants(a, b Dependant) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

func cloneAll(records []Record) []Record {
	var out []Record
	for _, r := range records {
		out = append(out, r.clone())
	}
	return out
}

func without(records []Record, id string) []Record {
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.ID == id })
}

func sortByID(records []Record) []Record {
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return records
}

// pageOf returns at most limit of the sorted keys that follow after, and the last of them if more follow.
func pageOf(keys []string, after string, limit int) (page []string, next string) {
	i, found := slices.BinarySearch(keys, after)
	if found {
		i++
	}
	keys = keys[i:]
	if len(keys) <= limit {
		return keys, ""
	}
	return keys[:limit], keys[limit-1]
}
