package daemon

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/digitalocean/go-libvirt"
)

// Host is a simulated host with QEMU.
type Host struct {
	uuid string

	mu       sync.Mutex
	faults   []*Fault
	calls    map[uint32]int
	links    int
	guests   guests
	storage  storage
	networks networks
}

// guests has the domains of a host.
type guests struct {
	runs    int32
	domains []*domain // in the order of their definition
}

type domain struct {
	libvirt.Domain
	state libvirt.DomainState
	// text is its description without the metadata; metadata has their elements by namespace.
	text      string
	metadata  map[string]string
	autostart bool
}

// New returns a host with only the network "default".
func New(uuid string) *Host {
	return &Host{
		uuid: uuid, calls: map[uint32]int{}, storage: storage{pools: map[string]*pool{}},
		networks: networks{all: map[string]*network{"default": {Network: libvirt.Network{Name: "default", UUID: libvirt.UUID{0xd}}, prefix: "192.168.126."}}},
	}
}

func (h *Host) capabilities() libvirt.ConnectGetCapabilitiesRet {
	return libvirt.ConnectGetCapabilitiesRet{Capabilities: fmt.Sprintf(`<capabilities><host><uuid>%s</uuid><cpu><arch>x86_64</arch></cpu></host>
<guest><os_type>hvm</os_type><arch name='i686'><domain type='qemu'/><domain type='kvm'/></arch></guest>
<guest><os_type>hvm</os_type><arch name='x86_64'><domain type='qemu'/></arch></guest></capabilities>`, h.uuid)}
}

func (h *guests) listDomains(libvirt.ConnectListAllDomainsArgs) (r libvirt.ConnectListAllDomainsRet, _ *libvirt.Error) {
	for _, d := range h.domains {
		r.Domains = append(r.Domains, d.Domain)
	}
	r.Ret = uint32(len(r.Domains)) //nolint:gosec // They are few.
	return r, nil
}

func (h *guests) domain(u libvirt.UUID) (*domain, *libvirt.Error) {
	for _, d := range h.domains {
		if d.UUID == u {
			return d, nil
		}
	}
	return nil, failed(libvirt.ErrNoDomain, "Domain not found: no domain with matching uuid '%x'", u)
}

func (h *guests) domainByUUID(a libvirt.DomainLookupByUUIDArgs) (r libvirt.DomainLookupByUUIDRet, _ *libvirt.Error) {
	d, err := h.domain(a.UUID)
	if err == nil {
		r.Dom = d.Domain
	}
	return r, err
}

func (h *guests) named(name string) *domain {
	for _, d := range h.domains {
		if d.Name == name {
			return d
		}
	}
	return nil
}

func (h *guests) domainByName(a libvirt.DomainLookupByNameArgs) (r libvirt.DomainLookupByNameRet, _ *libvirt.Error) {
	d := h.named(a.Name)
	if d == nil {
		return r, failed(libvirt.ErrNoDomain, "Domain not found: no domain with matching name '%s'", a.Name)
	}
	r.Dom = d.Domain
	return r, nil
}

var withMetadata = regexp.MustCompile(`(?s)<metadata>(.*?)</metadata>`)

func (d *domain) describe() string {
	all := ""
	for _, namespace := range slices.Sorted(maps.Keys(d.metadata)) {
		all += d.metadata[namespace]
	}
	return strings.Replace(d.text, "</domain>", "<metadata>"+all+"</metadata></domain>", 1)
}

func (h *guests) domainXML(a libvirt.DomainGetXMLDescArgs) (r libvirt.DomainGetXMLDescRet, _ *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err == nil {
		r.XML = d.describe()
	}
	return r, err
}

// defined has the used parts of a description.
type defined struct {
	Type   string `xml:"type,attr"`
	Name   string `xml:"name"`
	UUID   string `xml:"uuid"`
	Memory int64  `xml:"memory"`
}

func (h *guests) define(a libvirt.DomainDefineXMLFlagsArgs) (r libvirt.DomainDefineXMLFlagsRet, _ *libvirt.Error) {
	var s defined
	if err := xml.Unmarshal([]byte(a.XML), &s); err != nil || s.Name == "" || s.Memory == 0 {
		return r, failed(libvirt.ErrXMLError, "XML error: %v", err)
	}
	var u libvirt.UUID
	if _, err := fmt.Sscanf(strings.ReplaceAll(s.UUID, "-", ""), "%x", (*hexUUID)(&u)); err != nil {
		return r, failed(libvirt.ErrXMLError, "malformed uuid element: %v", err)
	}
	text, metadata, err := split(a.XML)
	if err != nil {
		return r, failed(libvirt.ErrXMLError, "XML error: %v", err)
	}
	d, missing := h.domain(u)
	other := h.named(s.Name)
	switch {
	case missing == nil && d.Name != s.Name:
		return r, failed(libvirt.ErrOperationFailed, "operation failed: domain '%s' is already defined with uuid %s", d.Name, s.UUID)
	case missing != nil && other != nil:
		return r, failed(libvirt.ErrOperationFailed, "operation failed: domain '%s' already exists with uuid %x", s.Name, other.UUID)
	case missing != nil:
		d = &domain{Domain: libvirt.Domain{Name: s.Name, UUID: u, ID: -1}, state: libvirt.DomainShutoff}
		h.domains = append(h.domains, d)
	}
	d.text, d.metadata = text, metadata
	r.Dom = d.Domain
	return r, nil
}

// hexUUID parses a UUID.
type hexUUID libvirt.UUID

// Scan implements [fmt.Scanner].
func (u *hexUUID) Scan(s fmt.ScanState, _ rune) error {
	var raw []byte
	token, err := s.Token(true, nil)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(string(token), "%x", &raw); err != nil || len(raw) != len(u) {
		return errors.Join(err, errors.New("a UUID has 16 bytes"))
	}
	copy(u[:], raw)
	return nil
}

// split removes the metadata from a description, and returns their elements by namespace.
func split(text string) (rest string, metadata map[string]string, err error) {
	metadata = map[string]string{}
	m := withMetadata.FindStringSubmatch(text)
	if m == nil {
		return text, metadata, nil
	}
	decoder := xml.NewDecoder(bytes.NewReader([]byte(m[1])))
	for {
		at := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.Replace(text, m[0], "", 1), metadata, nil
		}
		if err != nil {
			return "", nil, err
		}
		if start, ok := token.(xml.StartElement); ok {
			if err := decoder.Skip(); err != nil {
				return "", nil, err
			}
			metadata[start.Name.Space] = m[1][at:decoder.InputOffset()]
		}
	}
}

func (h *guests) setMetadata(a libvirt.DomainSetMetadataArgs) (none, *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err != nil {
		return none{}, err
	}
	if a.Flags&libvirt.DomainAffectLive != 0 && d.ID < 0 {
		return none{}, failed(libvirt.ErrOperationInvalid, "Requested operation is not valid: domain is not running")
	}
	if len(a.Metadata) == 0 {
		delete(d.metadata, a.Uri[0])
		return none{}, nil
	}
	key, text := a.Key[0], a.Metadata[0]
	if strings.Contains(text, "xmlns:"+key+"=") {
		return none{}, failed(libvirt.ErrInternalError, "internal error: failed to create a new XML namespace")
	}
	text = strings.ReplaceAll(text, "</", "</"+key+":")
	name, rest, _ := strings.Cut(text[1:], ">")
	d.metadata[a.Uri[0]] = "<" + key + ":" + name + " xmlns:" + key + "='" + a.Uri[0] + "'>" + rest
	return none{}, nil
}

func (h *guests) setAutostart(a libvirt.DomainSetAutostartArgs) (none, *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err == nil {
		d.autostart = a.Autostart != 0
	}
	return none{}, err
}

func (h *guests) start(a libvirt.DomainCreateWithFlagsArgs) (r libvirt.DomainCreateWithFlagsRet, _ *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err != nil {
		return r, err
	}
	if d.ID >= 0 {
		return r, failed(libvirt.ErrOperationInvalid, "Requested operation is not valid: domain is already running")
	}
	h.runs++
	d.ID, d.state = h.runs, libvirt.DomainRunning
	r.Dom = d.Domain
	return r, nil
}

func (h *guests) destroy(a libvirt.DomainDestroyFlagsArgs) (none, *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err != nil {
		return none{}, err
	}
	if d.ID < 0 {
		return none{}, failed(libvirt.ErrOperationInvalid, "Requested operation is not valid: domain is not running")
	}
	d.ID, d.state = -1, libvirt.DomainShutoff
	return none{}, nil
}

func (h *guests) undefine(a libvirt.DomainUndefineFlagsArgs) (none, *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err == nil {
		h.domains = slices.DeleteFunc(h.domains, func(o *domain) bool { return o == d })
	}
	return none{}, err
}

func (h *guests) domainState(a libvirt.DomainGetStateArgs) (r libvirt.DomainGetStateRet, _ *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err == nil {
		r.State = int32(d.state)
	}
	return r, err
}

func (h *guests) interfaceAddresses(a libvirt.DomainInterfaceAddressesArgs) (r libvirt.DomainInterfaceAddressesRet, _ *libvirt.Error) {
	d, err := h.domain(a.Dom.UUID)
	if err == nil && d.ID < 0 {
		err = failed(libvirt.ErrOperationInvalid, "Requested operation is not valid: domain is not running")
	}
	return r, err
}
