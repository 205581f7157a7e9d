package cloud

import (
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// The namespaces of what is kept in the metadata of a domain. libvirt keeps one element of each.
const (
	// nsMachine says whose the domain is, since it was defined.
	nsMachine = "https://millwright.dev/libvirt/machine"
	// nsBegun is there once the domain was started, nsReboot once it was rebooted on request.
	nsBegun  = "https://millwright.dev/libvirt/begun"
	nsReboot = "https://millwright.dev/libvirt/reboot"
)

// marks say whose a domain is. Hostname and Address are what its guest was told to be called, and the address kept for it.
type marks struct {
	XMLName   xml.Name `xml:"https://millwright.dev/libvirt/machine machine"`
	Cluster   string   `xml:"cluster,attr"`
	UID       string   `xml:"uid,attr"`
	Owner     string   `xml:"owner,attr,omitempty"`
	Namespace string   `xml:"namespace,attr,omitempty"`
	Name      string   `xml:"name,attr,omitempty"`
	Hostname  string   `xml:"hostname,attr,omitempty"`
	Address   string   `xml:"address,attr,omitempty"`
}

// begun says that the domain was started.
type begun struct {
	XMLName xml.Name `xml:"https://millwright.dev/libvirt/begun begun"`
}

// reboot is the last one that was asked for, which run of the domain it ends (libvirt gives each run a number; -1: it was off), and
// whether the next one has begun.
type reboot struct {
	XMLName xml.Name `xml:"https://millwright.dev/libvirt/reboot reboot"`
	Request string   `xml:"request,attr"`
	Run     int32    `xml:"run,attr"`
	Done    bool     `xml:"done,attr"`
}

// element is metadata as a part of a description, with the prefix that libvirt wants for the namespace.
func element(prefix, namespace string, value any) (string, error) {
	plain, err := bare(namespace, value)
	if err != nil {
		return "", err
	}
	// encoding/xml knows no prefixes. There is no other element in this one.
	name, rest, _ := strings.Cut(strings.TrimPrefix(plain, "<"), ">")
	tag, attributes, _ := strings.Cut(name, " ")
	declared := prefix + ":" + tag + ` xmlns:` + prefix + `="` + namespace + `" ` + attributes
	return "<" + declared + ">" + strings.Replace(rest, "</", "</"+prefix+":", 1), nil
}

// bare is metadata without its namespace, as it is handed over by itself: libvirt puts that in, and refuses what has it.
func bare(namespace string, value any) (string, error) {
	raw, err := xml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("write metadata: %w", err)
	}
	return strings.Replace(string(raw), ` xmlns="`+namespace+`"`, "", 1), nil
}

// scheme is what provider IDs begin with.
const scheme = "libvirt:///"

// tokenUUID is the UUID of the domain of a machine.
func tokenUUID(token string) (u libvirt.UUID) {
	raw, _ := hex.DecodeString(token) // a token is hexadecimal
	copy(u[:], raw)
	return u
}

func uuidText(u libvirt.UUID) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// uuidOf is the UUID that a provider ID names, as text; empty: none. libvirt writes UUIDs with hyphens and in lower case, and reads others.
func uuidOf(providerID string) string {
	id, ok := strings.CutPrefix(strings.ToLower(providerID), scheme)
	if !ok {
		return ""
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(raw) != libvirt.UUIDBuflen {
		return ""
	}
	return uuidText(libvirt.UUID(raw))
}

// identify is [provider.Traits].Identify.
func identify(providerID string) string {
	if id := uuidOf(providerID); id != "" {
		return scheme + id
	}
	return ""
}

// macOf is the address of a machine's network card, the same at all times, of the range that QEMU has for its own.
func macOf(u libvirt.UUID) string { return fmt.Sprintf("52:54:00:%02x:%02x:%02x", u[13], u[14], u[15]) }

// uuidFor is the UUID of ref's domain.
func uuidFor(s *session, ref provider.Ref) libvirt.UUID {
	return tokenUUID(ref.Token(s.class.Cluster))
}
