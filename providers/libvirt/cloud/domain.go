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

// domain is one of a host, as it was read.
type domain struct {
	libvirt.Domain
	marks
	// marked: it says whose it is. begun: it was started. reboot is the last one that was asked for.
	marked, begun bool
	reboot        reboot

	memoryMiB, vcpus int64
	disks            []disk
	cards            []card
	// agent: an agent in the guest is connected.
	agent bool
	// text is all that libvirt says of it.
	text string
}

// disk is a file, or a volume in a pool.
type disk struct{ pool, volume, file string }

// card is a network card: its network is empty where it is on none of libvirt's.
type card struct{ mac, network string }

// shown is what is read of a domain's description.
type shown struct {
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

// units are those in which libvirt writes memory, in KiB.
var units = map[string]int64{"": 1, "KiB": 1, "MiB": 1 << 10, "GiB": 1 << 20}

const agentChannel = "org.qemu.guest_agent.0"

// newDomain reads what libvirt says of a domain.
func newDomain(d libvirt.Domain, text string) (*domain, error) {
	var s shown
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

// has reports whether one of its disks is the volume, which is at a path.
func (d *domain) has(v libvirt.StorageVol, at string) bool {
	for _, x := range d.disks {
		if x.file != "" && x.file == at || x.volume == v.Name && x.pool == v.Pool {
			return true
		}
	}
	return strings.Contains(d.text, `"`+at+`"`) || strings.Contains(d.text, `'`+at+`'`) // of a firmware's file
}

// What names of the original's volumes end with.
const (
	originalIgnition  = ".ignition"
	originalCloudInit = "_cloud-init"
)

// original reports whether the original has made the domain, for a spec whose pool has its volumes at a path: it has no marks, boots from
// a volume of its own name there, and has boot data in another one. Of a class without a spec the pool is not known: any will do.
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

// state is what libvirt's number of a state stands for, and its word.
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

// errand is one call of a session, with what it is made through.
type errand struct {
	*session
	c *conn
}

// domains reads all domains of the host, and hands them over one by one until it is told to stop. One that has gone meanwhile is left out.
func (e errand) domains(ctx context.Context, yield func(*domain) (bool, error)) error {
	all, err := ask(ctx, e.c, func(l *libvirt.Libvirt) ([]libvirt.Domain, error) {
		all, _, err := l.ConnectListAllDomains(1, 0)
		return all, err
	})
	if err != nil {
		return fmt.Errorf("list domains: %w", err)
	}
	for _, each := range all {
		d, err := e.read(ctx, each)
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

func (e errand) read(ctx context.Context, d libvirt.Domain) (*domain, error) {
	text, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (string, error) { return l.DomainGetXMLDesc(d, 0) })
	if err != nil {
		return nil, fmt.Errorf("read domain %s: %w", d.Name, err)
	}
	return newDomain(d, text)
}

// instance says what a domain is.
func (e errand) instance(ctx context.Context, d *domain) (provider.Instance, error) {
	n, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (int32, error) {
		n, _, err := l.DomainGetState(d.Domain, 0)
		return n, err
	})
	if err != nil {
		return provider.Instance{}, fmt.Errorf("ask for the state of domain %s: %w", d.Domain.Name, err)
	}
	i := provider.Instance{
		ID: d.id(), UID: d.UID, Name: cmp.Or(d.marks.Name, d.Domain.Name), Owner: d.Owner, Namespace: d.Namespace, ProviderID: scheme + d.id(),
		NodeName: d.Hostname, Uninitialized: d.UID != "" && !d.begun, Tags: d.tags(), Type: typeOf(d.vcpus, d.memoryMiB),
	}
	i.State, i.RawState = state(libvirt.DomainState(n))
	i.Addresses, err = e.addresses(ctx, d, i.State == provider.Running)
	return i, err
}

// What tags of an instance are called: what of a domain its class decides, and what it was marked with.
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
