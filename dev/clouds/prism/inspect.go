package prism

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Guests implements [double.Host]. Provider IDs are those of the cloud controller manager of Nutanix.
func (c *Cloud) Guests() (all []double.Guest) {
	c.settle()
	for _, m := range c.machines.All() {
		if c.power(m) != "ON" || c.state(m) != complete {
			continue
		}
		data := m.userData()
		all = append(all, double.Guest{
			ID: m.UUID, NodeName: hostName(data, m.Name), ProviderID: "nutanix://" + m.UUID, Addresses: m.Addresses, UserData: data, Boots: m.Boots,
			VCPUs: m.Resources.Sockets * m.Resources.VCPUsPerSocket, MemoryMiB: m.Resources.MemoryMiB, Zone: m.Cluster.Name, Region: c.options.Inventory.Name,
		})
	}
	return all
}

// hostName is the host name in a configuration of Ignition, or the default.
func hostName(data []byte, other string) string {
	var config struct {
		Storage struct {
			Files []struct {
				Path     string `json:"path"`
				Contents struct {
					Source string `json:"source"`
				} `json:"contents"`
			} `json:"files"`
		} `json:"storage"`
	}
	if json.Unmarshal(data, &config) != nil {
		return other
	}
	for _, f := range config.Storage.Files {
		_, encoded, _ := strings.Cut(f.Contents.Source, ";base64,")
		if name, err := base64.StdEncoding.DecodeString(encoded); f.Path == "/etc/hostname" && err == nil {
			return string(name)
		}
	}
	return other
}

// tagsOf are the categories of a virtual machine, and the words key=value of its description.
func tagsOf(m machine) map[string]string {
	tags := maps.Clone(m.Categories)
	if tags == nil {
		tags = map[string]string{}
	}
	for word := range strings.FieldsSeq(m.Description) {
		if key, value, ok := strings.Cut(word, "="); ok {
			tags[key] = value
		}
	}
	return tags
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.settle()
	for _, m := range c.machines.All() {
		l := double.Listed{ID: m.UUID, Name: m.Name, State: c.power(m), Zone: m.Cluster.Name, Account: m.Account, Tags: tagsOf(m)}
		switch c.state(m) {
		case gone:
			continue
		case deleting:
			l.State = "deleting"
		case pending, inError:
			l.State = c.state(m)
		}
		for _, d := range m.Resources.Disks {
			l.Dependants = append(l.Dependants, "disk "+d.UUID)
		}
		all = append(all, l)
	}
	return all
}

// Orphans implements [double.Inspected]. Disks never outlive their virtual machine.
func (*Cloud) Orphans() []string { return nil }

// controls are the verbs of the console.
func (c *Cloud) controls() double.Controls {
	on := double.OnInstance(&c.mu, func(id string) (machine, bool) {
		m, ok := c.machines.Get(id)
		return m, ok && c.state(m) != gone
	})
	change := func(change func(*machine)) func(string) error {
		return on(func(m machine) error {
			c.machines.Change(m.UUID, change)
			return nil
		})
	}
	power := func(state string) func(*machine) {
		return func(m *machine) {
			if m.Resources.Power != state {
				m.Boots++
			}
			m.Resources.Power = state
		}
	}
	return append(c.ExhaustVerbs("the name of a cluster, which then fails virtual machines that it has accepted; or name/now, which then accepts none"), c.LagVerb(),
		double.Verb{Name: "terminate", On: "a virtual machine", Do: change(func(m *machine) { m.Deleted = c.clock.Now() })},
		double.Verb{Name: "stop", On: "a virtual machine", Do: change(power("OFF"))},
		double.Verb{Name: "start", On: "a virtual machine", Do: change(power("ON"))},
		double.Verb{Name: "fail", On: "a virtual machine that is being created: its creation fails", Do: on(c.fail)},
		double.Verb{Name: "untag", On: "vm=key: the virtual machine loses the category, or the word of its description, with the key", Do: c.untag},
	)
}

// fail lets a creation fail.
func (c *Cloud) fail(m machine) error {
	if c.state(m) != pending {
		return fmt.Errorf("virtual machine %s has been created", m.UUID)
	}
	c.failed.Put(m.UUID, noRoom)
	return nil
}

func (c *Cloud) untag(of string) error {
	id, key, _ := strings.Cut(of, "=")
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.machines.Get(id)
	if _, has := tagsOf(m)[key]; !ok || !has {
		return fmt.Errorf("there is no virtual machine %q with the key %q: say vm=key", id, key)
	}
	var words []string
	for word := range strings.FieldsSeq(m.Description) {
		if !strings.HasPrefix(word, key+"=") {
			words = append(words, word)
		}
	}
	c.machines.Change(id, func(m *machine) {
		m.Description, m.Categories = strings.Join(words, " "), maps.Clone(m.Categories)
		delete(m.Categories, key)
	})
	return nil
}

// Vanish deletes a virtual machine at once.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	ok := c.machines.Change(id, func(m *machine) { m.Deleted = c.clock.Now().Add(-c.options.Delete) })
	c.mu.Unlock()
	c.settle()
	return ok
}

// Forget removes a virtual machine as if it had never existed. Its tasks stay.
func (c *Cloud) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machines.Delete(id)
}
