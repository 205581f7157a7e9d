package cloud

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"path"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// domain is a domain of a host, as it was read.
type domain struct {
	libvirt.Domain
	marks
	// marked: it has our ownership metadata. begun: it was started. reboot is the last reboot request.
	marked, begun bool
	reboot        reboot

	memoryMiB, vcpus int64
	disks            []disk
	cards            []card
	// agent: a guest agent is connected.
	agent bool
	// text is the whole description of the domain.
	text string
}

// disk is a file, or a volume in a pool.
type disk struct{ pool, volume, file string }

// card is a network card; network is empty if libvirt does not manage its network.
type card struct{ mac, network string }

// description has the used parts of a domain's description.
type description struct {
	Memory struct {
		Value int64  `xml:",chardata"`
		Unit  string `xml:"unit,attr"`
	} `xml:"memory"`
	VCPU     int64 `xml:"vcpu"`
	Metadata struct {
		Machine *marks  `xml:"https://millwright.dev/libvirt/machine machine"`
		Begun   *begun  `xml:"https://millwright.dev/libvirt/begun begun"`
		Reboot  *reboot `xml:"https://millwright.dev/libvirt/reboot reboot"`
	} `xml:"metadata"`
	Disks []struct {
		Source struct {
			File   string `xml:"file,attr"`
			Pool   string `xml:"pool,attr"`
			Volume string `xml:"volume,attr"`
		} `xml:"source"`
	} `xml:"devices>disk"`
	Cards []struct {
		MAC struct {
			Address string `xml:"address,attr"`
		} `xml:"mac"`
		Source struct {
			Network string `xml:"network,attr"`
		} `xml:"source"`
	} `xml:"devices>interface"`
	Channels []struct {
		Target struct {
			Name  string `xml:"name,attr"`
			State string `xml:"state,attr"`
		} `xml:"target"`
	} `xml:"devices>channel"`
}

// units are the units of memory in libvirt's descriptions, in KiB.
var units = map[string]int64{"": 1, "KiB": 1, "MiB": 1 << 10, "GiB": 1 << 20}

const agentChannel = "org.qemu.guest_agent.0"

// newDomain decodes the description of a domain.
func newDomain(d libvirt.Domain, text string) (*domain, error) {
	var s description
	if err := xml.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("read the description of domain %s: %w", d.Name, err)
	}
	out := &domain{Domain: d, text: text, vcpus: s.VCPU, memoryMiB: s.Memory.Value * units[s.Memory.Unit] >> 10, begun: s.Metadata.Begun != nil}
	if m := s.Metadata.Machine; m != nil && m.UID != "" {
		out.marks, out.marked = *m, true
	}
	if r := s.Metadata.Reboot; r != nil {
		out.reboot = *r
	}
	for _, x := range s.Disks {
		out.disks = append(out.disks, disk{pool: x.Source.Pool, volume: x.Source.Volume, file: x.Source.File})
	}
	for _, x := range s.Cards {
		out.cards = append(out.cards, card{mac: strings.ToLower(x.MAC.Address), network: x.Source.Network})
	}
	for _, x := range s.Channels {
		out.agent = out.agent || x.Target.Name == agentChannel && x.Target.State == "connected"
	}
	return out, nil
}

func (d *domain) id() string { return uuidText(d.UUID) }

// has reports whether a disk of the domain is the volume, which is at a path.
func (d *domain) has(v libvirt.StorageVol, at string) bool {
	for _, x := range d.disks {
		if x.file != "" && x.file == at || x.volume == v.Name && x.pool == v.Pool {
			return true
		}
	}
	return strings.Contains(d.text, `"`+at+`"`) || strings.Contains(d.text, `'`+at+`'`) // of a firmware's file
}

// The suffixes of the original's volume names.
const (
	originalIgnition  = ".ignition"
	originalCloudInit = "_cloud-init"
)

// original reports whether the original has created the domain, for a spec whose pool is at a path: the
// domain has no metadata of ours, boots from a volume of its own name in that pool, and has its boot data in
// another volume. Without a spec the pool is unknown: any pool matches.
func (d *domain) original(pool, at string) bool {
	if d.marked || len(d.disks) == 0 {
		return false
	}
	root := d.disks[0]
	own := root.pool == pool && root.volume == d.Domain.Name || root.file != "" && root.file == path.Join(at, d.Domain.Name)
	if pool == "" {
		own = root.volume == d.Domain.Name || path.Base(root.file) == d.Domain.Name
	}
	return own && (strings.Contains(d.text, d.Domain.Name+originalIgnition) || strings.Contains(d.text, d.Domain.Name+originalCloudInit))
}

// state converts a state of libvirt.
func state(n libvirt.DomainState) (provider.State, string) {
	switch n {
	case libvirt.DomainRunning:
		return provider.Running, "running"
	case libvirt.DomainBlocked:
		return provider.Running, "blocked"
	case libvirt.DomainPaused:
		return provider.Stopped, "paused"
	case libvirt.DomainShutdown:
		return provider.Stopped, "in shutdown"
	case libvirt.DomainShutoff:
		return provider.Stopped, "shut off"
	case libvirt.DomainCrashed:
		return provider.Stopped, "crashed"
	case libvirt.DomainPmsuspended:
		return provider.Stopped, "suspended"
	}
	return provider.Pending, "no state"
}

// call is one call of a session, with its connection.
type call struct {
	*session
	conn *conn
}

// domains reads all domains of the host, until yield returns false. It skips domains that are deleted
// meanwhile.
func (c call) domains(ctx context.Context, yield func(*domain) (bool, error)) error {
	all, err := ask(ctx, c.conn, func(l *libvirt.Libvirt) ([]libvirt.Domain, error) {
		all, _, err := l.ConnectListAllDomains(1, 0)
		return all, err
	})
	if err != nil {
		return fmt.Errorf("list domains: %w", err)
	}
	for _, each := range all {
		d, err := c.read(ctx, each)
		if is(err, libvirt.ErrNoDomain) {
			continue
		}
		if err != nil {
			return err
		}
		if more, err := yield(d); err != nil || !more {
			return err
		}
	}
	return nil
}

func (c call) read(ctx context.Context, d libvirt.Domain) (*domain, error) {
	text, err := ask(ctx, c.conn, func(l *libvirt.Libvirt) (string, error) { return l.DomainGetXMLDesc(d, 0) })
	if err != nil {
		return nil, fmt.Errorf("read domain %s: %w", d.Name, err)
	}
	return newDomain(d, text)
}

// toInstance converts a domain.
func (c call) toInstance(ctx context.Context, d *domain) (provider.Instance, error) {
	n, err := ask(ctx, c.conn, func(l *libvirt.Libvirt) (int32, error) {
		n, _, err := l.DomainGetState(d.Domain, 0)
		return n, err
	})
	if err != nil {
		return provider.Instance{}, fmt.Errorf("read the state of domain %s: %w", d.Domain.Name, err)
	}
	i := provider.Instance{
		ID: d.id(), UID: d.UID, Name: cmp.Or(d.marks.Name, d.Domain.Name), Owner: d.Owner, Namespace: d.Namespace, ProviderID: scheme + d.id(),
		NodeName: d.Hostname, Uninitialized: d.UID != "" && !d.begun, Tags: d.tags(), Type: typeOf(d.vcpus, d.memoryMiB),
	}
	i.State, i.RawState = state(libvirt.DomainState(n))
	i.Addresses, err = c.addresses(ctx, d, i.State == provider.Running)
	return i, err
}

// The tags of an instance: the properties that the class decides, and the cluster in the ownership metadata.
const (
	tagMarked = "marked"
	tagMemory = "memoryMiB"
	tagVCPUs  = "vcpus"
)

func (d *domain) tags() map[string]string {
	tags := map[string]string{tagMemory: fmt.Sprint(d.memoryMiB), tagVCPUs: fmt.Sprint(d.vcpus)}
	if d.marked {
		tags[tagMarked] = d.Cluster
	}
	return tags
}
