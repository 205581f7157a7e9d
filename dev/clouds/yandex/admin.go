package yandex

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cloud with its administration: keys can be revoked and issued, and instances planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// sample is the text of the key, and the folder, in the samples.
type sample struct{ key, folder string }

// StandFor sets the key in the samples, so that [Administered.Issue] can return its replacement.
func (c Administered) StandFor(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sample = sample{string(key), c.options.Inventory.Folders[0]}
}

// RevokeKeys revokes the keys of a service account.
func (c *Cloud) RevokeKeys(account string) {
	c.Credentials.Remove(func(k accountKey) bool { return k.account == account })
}

// Permit sets the roles of a service account; without arguments, it may call everything.
func (c *Cloud) Permit(account string, roles ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.options.Inventory.account(account); n >= 0 {
		c.options.Inventory.ServiceAccounts[n].Roles = roles
	}
}

// The folder and service account for names of accounts.
const (
	otherFolder  = "b1gexample0000000002"
	otherAccount = "ajeexample0000000002"
)

// Issue implements [double.Lender]. All other accounts are the same folder: in this simulator folders differ
// only by their instances.
func (c Administered) Issue(account string) (map[string]string, error) {
	c.mu.Lock()
	was, accounts := c.sample, c.options.Inventory.ServiceAccounts
	if was.key == "" || len(accounts) == 0 {
		c.mu.Unlock()
		return nil, errors.New("no key of a service account stands in the samples")
	}
	of, folder := accounts[0].ID, was.folder
	if account != "" {
		of, folder = otherAccount, otherFolder
		if c.options.Inventory.account(of) < 0 {
			c.options.Inventory.ServiceAccounts = append(slices.Clone(accounts), ServiceAccount{ID: of, Folder: folder})
		}
	}
	c.mu.Unlock()
	key, err := c.IssueKey(of)
	return map[string]string{was.key: string(key), was.folder: folder}, err
}

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	i, ok := c.instances.Get(id)
	if !ok {
		return fmt.Errorf("there is no instance %q", id)
	}
	request := proto.CloneOf(i.Request)
	request.Name, request.Hostname, request.Labels = rename(request.GetName()), rename(request.GetHostname()), double.Renamed(i.Labels, rename)
	for _, n := range request.GetNetworkInterfaceSpecs() {
		if nat := n.GetPrimaryV4AddressSpec().GetOneToOneNatSpec(); nat != nil {
			nat.Address = ""
		}
	}
	_, err := c.Plant(request)
	return err
}

// ForgetTokens revokes all issued tokens, but no key.
func (c Administered) ForgetTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tokens)
}

// ForgetKeys forgets all idempotency keys.
func (c Administered) ForgetKeys() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.keys)
}

// FailInternally fails the creation of an instance for a reason of the cloud's own.
func (c Administered) FailInternally(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := c.instances.Get(id)
	if o := c.operations[i.Creation]; o != nil {
		o.failure = status.New(codes.Internal, "Internal error")
		c.vanish(id)
	}
}
