package metal3

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

// Guest boots on a host with the user data of a secret. It is another guest each time the disk is written. Its kubelet gets the
// provider ID that OpenShift's original sets on nodes, because the addresses of hosts are not this machine's, so that a node
// cannot be matched by address.
func Guest(h host.Host, userData string) double.Guest {
	g := double.Guest{ID: string(h.UID), NodeName: h.Name, ProviderID: fmt.Sprintf("baremetalhost:///%s/%s/%s", h.Namespace, h.Name, h.UID)}
	if at := h.Status.OperationHistory.Provision.End; !at.IsZero() {
		g.ID += "-" + strconv.FormatInt(at.Unix(), 10)
	}
	g.UserData, _ = base64.StdEncoding.DecodeString(userData)
	if hardware := h.Status.HardwareDetails; hardware != nil {
		g.NodeName, g.VCPUs, g.MemoryMiB = hardware.Hostname, int64(hardware.CPU.Count), int64(hardware.RAMMebibytes)
		for _, nic := range hardware.NIC {
			if nic.IP != "" {
				g.Addresses = append(g.Addresses, nic.IP)
			}
		}
	}
	return g
}
