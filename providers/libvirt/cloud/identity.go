package cloud

import (
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// The namespaces of our elements in the metadata of a domain. libvirt keeps one element for each namespace.
const (
	// nsMachine has the ownership of the domain, from its definition on.
	nsMachine = "https://millwright.dev/libvirt/machine"
	// nsBegun is set after the domain was started, nsReboot after a requested reboot.
	nsBegun  = "https://millwright.dev/libvirt/begun"
	nsReboot = "https://millwright.dev/libvirt/reboot"
)

// marks are the ownership of a domain. Hostname and Address are the guest's host name and its reserved
// address.
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

// begun records that the domain was started.
type begun struct {
	XMLName xml.Name `xml:"https://millwright.dev/libvirt/begun begun"`
}

// reboot is the last reboot request, the number of the run that it ends (libvirt numbers the runs of a
// domain; -1: it was off), and whether the next run has started.
type reboot struct {
	XMLName xml.Name `xml:"https://millwright.dev/libvirt/reboot reboot"`
	Request string   `xml:"request,attr"`
	Run     int32    `xml:"run,attr"`
	Done    bool     `xml:"done,attr"`
}

// element encodes metadata as an element of a domain's description, with the namespace prefix that libvirt
// requires.
func element(prefix, namespace string, value any) (string, error) {
	plain, err := bare(namespace, value)
	if err != nil {
		return "", err
	}
	// encoding/xml has no prefixes. The element has no child elements.
	name, rest, _ := strings.Cut(strings.TrimPrefix(plain, "<"), ">")
	tag, attributes, _ := strings.Cut(name, " ")
	declared := prefix + ":" + tag + ` xmlns:` + prefix + `="` + namespace + `" ` + attributes
	return "<" + declared + ">" + strings.Replace(rest, "</", "</"+prefix+":", 1), nil
}

// bare encodes metadata without its namespace for a call of its own: libvirt adds the namespace, and refuses
// an element that has one.
func bare(namespace string, value any) (string, error) {
	raw, err := xml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("write metadata: %w", err)
	}
	return strings.Replace(string(raw), ` xmlns="`+namespace+`"`, "", 1), nil
}

// scheme is the prefix of provider IDs.
const scheme = "libvirt:///"

// tokenUUID is the UUID of a machine's domain, from the machine's token.
func tokenUUID(token string) (u libvirt.UUID) {
	raw, _ := hex.DecodeString(token) // a token is hexadecimal
	copy(u[:], raw)
	return u
}

func uuidText(u libvirt.UUID) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// uuidOf is the UUID in a provider ID, as text; empty: none. libvirt writes UUIDs with hyphens and in lower
// case, and reads other forms.
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

// macOf is the MAC address of a machine's network card. It is always the same, and in QEMU's range.
func macOf(u libvirt.UUID) string { return fmt.Sprintf("52:54:00:%02x:%02x:%02x", u[13], u[14], u[15]) }

// uuidFor is the UUID of ref's domain.
func uuidFor(s *session, ref provider.Ref) libvirt.UUID {
	return tokenUUID(ref.Token(s.class.Cluster))
}
