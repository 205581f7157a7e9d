package prism

import (
	"encoding/base64"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// machine is a virtual machine as requested, with its later changes. Its state depends on the time.
type machine struct {
	UUID, Account, Name, Description string
	Cluster                          Cluster
	Project                          *ref
	Categories                       map[string]string
	Resources                        resources
	Addresses                        []string // one for each network interface
	Version                          int
	Made                             time.Time
	// Deleted is the time at which the deletion was accepted; zero: it was not.
	Deleted time.Time
	Boots   int
}

// task is a task, which ends at a time. The creation of a virtual machine fails with it.
type task struct {
	End     time.Time
	Created string // the UUID of the virtual machine that it creates, if any
}

// The states of a virtual machine.
const (
	pending  = "PENDING"
	complete = "COMPLETE"
	inError  = "ERROR"
	deleting = "DELETE_PENDING"
	gone     = "deleted"
)

func (c *store) state(m machine) string {
	now := c.clock.Now()
	switch {
	case !m.Deleted.IsZero() && now.Sub(m.Deleted) >= c.options.Delete:
		return gone
	case !m.Deleted.IsZero():
		return deleting
	case now.Sub(m.Made) < c.options.Boot:
		return pending
	}
	if _, failed := c.failed.Get(m.UUID); failed {
		return inError
	}
	return complete
}

// power is the state of the power.
func (c *store) power(m machine) string {
	if state := c.state(m); state == pending || state == inError {
		return "OFF"
	}
	return m.Resources.Power
}

// settle removes deleted virtual machines.
func (c *store) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.machines.All() {
		if c.state(m) == gone {
			c.machines.Delete(m.UUID)
		}
	}
}

// existing is a virtual machine of an account; none for an account that is empty.
func (c *store) existing(uuid, account string) (machine, bool) {
	m, ok := c.machines.Get(uuid)
	return m, ok && c.state(m) != gone && m.Account == account
}

// begin begins a task, and returns its UUID; the caller holds the lock.
func (c *store) begin(takes time.Duration, created string) string {
	uuid := double.UUID()
	c.tasks[uuid] = task{End: c.clock.Now().Add(takes), Created: created}
	return uuid
}

// entity is a virtual machine in answers.
func (c *store) entity(m machine) object {
	metadata := object{"kind": "vm", "uuid": m.UUID, "spec_version": m.Version, "creation_time": m.Made.UTC().Format(time.RFC3339), "categories": m.Categories, "name": m.Name}
	mapping := map[string][]string{}
	for key, value := range m.Categories {
		mapping[key] = []string{value}
	}
	metadata["categories_mapping"] = mapping
	if m.Project != nil {
		metadata["project_reference"] = m.Project
	}
	cluster := object{"kind": "cluster", "uuid": m.Cluster.UUID, "name": m.Cluster.Name}
	nics := []object{}
	for n, address := range m.Addresses {
		nics = append(nics, object{"subnet_reference": m.Resources.NICs[n].Subnet, "ip_endpoint_list": []object{{"ip": address, "type": "ASSIGNED"}}})
	}
	spec := m.Resources
	spec.Customization = nil // it is set once
	state, messages := c.state(m), []object{}
	if why, _ := c.failed.Get(m.UUID); state == inError {
		messages = append(messages, object{"message": why, "reason": "INTERNAL_ERROR"})
	}
	return object{
		"api_version": "3.1", "metadata": metadata,
		"spec": object{"name": m.Name, "description": m.Description, "cluster_reference": cluster, "resources": spec},
		"status": object{
			"name": m.Name, "description": m.Description, "state": state, "message_list": messages, "cluster_reference": cluster,
			"resources": object{
				"power_state": c.power(m), "hypervisor_type": "AHV", "num_sockets": m.Resources.Sockets, "num_vcpus_per_socket": m.Resources.VCPUsPerSocket,
				"memory_size_mib": m.Resources.MemoryMiB, "nic_list": nics,
			},
		},
	}
}

// accepted is the answer to an accepted request.
func accepted(e object, name string) object {
	e["status"].(object)["execution_context"] = object{"task_uuid": name}
	e["status"].(object)["state"] = pending
	return e
}

// asIntent is the request that would create the virtual machine.
func (m machine) asIntent() intent {
	in := intent{Metadata: meta{Kind: "vm", Project: m.Project, Categories: m.Categories}}
	in.Spec = intentSpec{Name: m.Name, Description: m.Description, Cluster: &ref{Kind: "cluster", UUID: m.Cluster.UUID}, Resources: m.Resources}
	in.Spec.Resources.Disks = slices.Clone(m.Resources.Disks)
	return in
}

func (m machine) userData() []byte {
	if m.Resources.Customization == nil {
		return nil
	}
	data, _ := base64.StdEncoding.DecodeString(m.Resources.Customization.CloudInit.UserData) // it was validated
	return data
}
