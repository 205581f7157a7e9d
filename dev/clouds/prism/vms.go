package prism

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

func createVM(c *Cloud, in *call) (int, object, *failure) {
	want, no := c.decode(in.body)
	if no != nil {
		return 0, nil, no
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	uuid := double.UUID()
	if own := want.Metadata.UUID; own != "" {
		switch used, reserved := c.issued[own]; {
		case !reserved:
			return 0, nil, unprocessable("The UUID %s was not reserved.", own)
		case used:
			return 0, nil, refuse(http.StatusConflict, "ENTITY_ALREADY_EXISTS", "The UUID %s is in use.", own)
		case !c.options.Plain:
			uuid = own
		}
		c.issued[own] = true
	}
	m, no := c.build(want, uuid, in.account)
	if no != nil {
		return 0, nil, no
	}
	if c.Lacks(m.Cluster.Name + "/now") {
		return 0, nil, exhaustions["type"]
	}
	if c.vms.full(m) {
		c.failed.Put(uuid, noRoom)
	}
	c.machines.Put(uuid, m)
	return http.StatusAccepted, accepted(c.entity(m), c.begin(c.options.Boot, uuid)), nil
}

// noRoom is the reason for which a task fails in a cluster without capacity.
const noRoom = "NoHostResources: No host has enough available memory for the VM."

// build is the virtual machine of a request; the caller holds the lock.
func (c *store) build(want intent, uuid, account string) (machine, *failure) {
	cluster, _ := c.cluster(want.Spec.Cluster.UUID) // it was validated
	m := machine{
		UUID: uuid, Account: account, Name: want.Spec.Name, Description: want.Spec.Description, Cluster: cluster, Project: want.Metadata.Project,
		Categories: want.Metadata.Categories, Resources: want.Spec.Resources, Made: c.clock.Now(), Boots: 1,
	}
	if m.Resources.Power == "" {
		m.Resources.Power = "OFF"
	}
	for i := range m.Resources.Disks {
		m.Resources.Disks[i].UUID = double.UUID()
	}
	used := map[string]bool{}
	for _, other := range c.machines.All() {
		for _, address := range other.Addresses {
			used[address] = true
		}
	}
	const reserved = 10
	for _, n := range m.Resources.NICs {
		subnet, _ := c.subnet(n.Subnet.UUID)
		address, ok := double.FreeAddress(subnet.CIDR, reserved, used)
		if !ok {
			return m, unprocessable("There is no free IP address in the subnet %s.", subnet.Name)
		}
		used[address] = true
		m.Addresses = append(m.Addresses, address)
	}
	return m, nil
}

// full reports whether the cluster has no capacity for another virtual machine.
func (c vms) full(m machine) bool {
	counts := map[string]int{}
	for _, other := range c.machines.All() {
		if state := c.state(other); state != gone && state != inError {
			counts[other.Cluster.Name]++
		}
	}
	return c.Full(counts, m.Cluster.Name)
}

func (c vms) gpusInUse(cluster string, device int64) (n int) {
	for _, m := range c.machines.All() {
		for _, g := range m.Resources.GPUs {
			if m.Cluster.UUID == cluster && g.DeviceID == device && c.state(m) != gone {
				n++
			}
		}
	}
	return n
}

// listVMs lists the virtual machines that were created successfully.
func listVMs(c *Cloud, in *call) (int, object, *failure) {
	var all []object
	for _, m := range c.machines.AllBehind(c.Lag()) {
		if state := c.state(m); m.Account == in.account && state != gone && state != pending && state != inError {
			all = append(all, c.entity(m))
		}
	}
	return c.list(in, "vm", "vm_name", all)
}

func getVM(c *Cloud, in *call) (int, object, *failure) {
	m, ok := c.existing(in.name, in.account)
	if !ok {
		return 0, nil, notFound("VM", in.name)
	}
	return http.StatusOK, c.entity(m), nil
}

// updateVM changes the name, the description, the categories and the power. A request for another version of the spec
// than the current one is refused.
func updateVM(c *Cloud, in *call) (int, object, *failure) {
	want, no := c.decode(in.body)
	if no != nil {
		return 0, nil, no
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.existing(in.name, in.account)
	switch {
	case !ok:
		return 0, nil, notFound("VM", in.name)
	case want.Metadata.Version == nil || *want.Metadata.Version != m.Version || c.state(m) == deleting:
		return 0, nil, refuse(http.StatusConflict, "CONCURRENT_REQUESTS_NOT_ALLOWED", "Edit conflict: please change the spec_version.")
	}
	c.machines.Change(m.UUID, func(m *machine) {
		if power := want.Spec.Resources.Power; power != m.Resources.Power && power != "" {
			m.Resources.Power = power
			m.Boots++
		}
		m.Name, m.Description, m.Version = want.Spec.Name, want.Spec.Description, m.Version+1
		m.Categories = want.Metadata.Categories
		if want.Metadata.UseMapping {
			m.Categories = map[string]string{}
			for key, values := range want.Metadata.Mapping {
				m.Categories[key] = values[0]
			}
		}
	})
	m, _ = c.machines.Get(m.UUID)
	return http.StatusAccepted, accepted(c.entity(m), c.begin(0, "")), nil
}

func deleteVM(c *Cloud, in *call) (int, object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.existing(in.name, in.account)
	if !ok {
		return 0, nil, notFound("VM", in.name)
	}
	if m.Deleted.IsZero() {
		c.machines.Change(m.UUID, func(m *machine) { m.Deleted = c.clock.Now() })
	}
	return http.StatusAccepted, accepted(object{"api_version": "3.1", "metadata": object{"kind": "vm"}, "status": object{}}, c.begin(c.options.Delete, "")), nil
}

// cycleVM restarts a virtual machine that is on.
func cycleVM(c *Cloud, in *call) (int, object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.existing(in.name, in.account)
	switch {
	case !ok:
		return 0, nil, notFound("VM", in.name)
	case c.power(m) != "ON":
		return 0, nil, unprocessable("The VM is powered off.")
	}
	c.machines.Change(m.UUID, func(m *machine) { m.Boots++ })
	return http.StatusAccepted, object{"task_uuid": c.begin(0, "")}, nil
}

func getTask(c *Cloud, in *call) (int, object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tasks[in.name]
	if !ok {
		return 0, nil, notFound("task", in.name)
	}
	why, failed := c.failed.Get(t.Created)
	answer := object{"api_version": "3.1", "uuid": in.name, "status": "SUCCEEDED", "percentage_complete": 100}
	switch {
	case c.clock.Now().Before(t.End):
		answer["status"], answer["percentage_complete"] = "RUNNING", 50
	case failed:
		answer["status"], answer["error_detail"] = "FAILED", why
	}
	return http.StatusOK, answer, nil
}

// identifiers are the allowed identifiers of reservations.
var identifiers = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// reserve reserves UUIDs: the same ones for the same identifier.
func reserve(c *Cloud, in *call) (int, object, *failure) {
	var want struct {
		Identifier string `json:"client_identifier"`
		Count      int    `json:"count"`
	}
	if err := json.Unmarshal(in.body, &want); err != nil || want.Count < 1 || want.Count > 4096 || !identifiers.MatchString(want.Identifier) {
		return 0, nil, unprocessable("The reservation is invalid.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := in.account + "/" + want.Identifier
	for len(c.reserved[key]) < want.Count {
		uuid := double.UUID()
		c.reserved[key], c.issued[uuid] = append(c.reserved[key], uuid), false
	}
	return http.StatusOK, reservation(want.Identifier, c.reserved[key]), nil
}

func reservation(identifier string, uuids []string) object {
	return object{"client_identifier": identifier, "count": len(uuids), "uuid_list": uuids}
}

func getReservation(c *Cloud, in *call) (int, object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uuids, ok := c.reserved[in.account+"/"+in.name]
	if !ok {
		return 0, nil, notFound("identifier", in.name)
	}
	return http.StatusOK, reservation(in.name, uuids), nil
}

func deleteReservation(c *Cloud, in *call) (int, object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := in.account + "/" + in.name
	if _, ok := c.reserved[key]; !ok {
		return 0, nil, notFound("identifier", in.name)
	}
	delete(c.reserved, key)
	return http.StatusOK, nil, nil
}

// Plant creates a running virtual machine from the body of a request, without a request. uuid is its UUID.
func (c *Cloud) Plant(body []byte, uuid string) error {
	want, no := c.decode(body)
	if no != nil {
		return fmt.Errorf("%s: %s", no.reason, no.message)
	}
	return c.vms.plant(want, uuid)
}

func (c vms) plant(want intent, uuid string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, no := c.build(want, uuid, c.options.Inventory.Account)
	if no != nil {
		return fmt.Errorf("%s: %s", no.reason, no.message)
	}
	m.Made = m.Made.Add(-c.options.Boot)
	c.machines.Put(uuid, m)
	return nil
}
