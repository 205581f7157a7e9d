package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/provider"
)

// tokenAttempts is how many token ids are tried for one machine. Each is taken with a probability of (tokens
// in the cluster) / 2.2 billion.
const tokenAttempts = 8

// TokenRequest requests the bootstrap token of one machine.
type TokenRequest struct {
	Machine provider.Ref
	// Lifetime is how long the token is to be valid from now.
	Lifetime time.Duration
	// Groups is the comma-separated list of further groups of the user that
	// the token authenticates, each beginning with "system:bootstrappers:".
	// May be empty.
	Groups string
}

// BootData renders user data for the machine, with its bootstrap token if the user data has a placeholder for
// one, and there is a cluster to join. It reports whether a token was created for that.
func (c *Cluster) BootData(ctx context.Context, userData []byte, t TokenRequest) (out []byte, tokenMade bool, err error) {
	values := bootstrap.Values{MachineName: t.Machine.Name}
	if c.Exists() && bootstrap.NeedsToken(userData) {
		if values.Token, err = c.Token(ctx, t); err != nil {
			return nil, false, fmt.Errorf("make a bootstrap token: %w", err)
		}
	}
	out, _ = bootstrap.Render(userData, values)
	return out, values.Token != "", nil
}

// Token returns the machine's bootstrap token ("<id>.<secret>"), always the same one as long as it exists. A
// token with less than half of its lifetime left is prolonged. Empty if there is no cluster to join.
func (c *Cluster) Token(ctx context.Context, t TokenRequest) (string, error) {
	if c == nil {
		return "", nil
	}
	secret, err := bootstrap.NewSecret(cmp.Or(c.Random, rand.Reader))
	if err != nil {
		return "", err
	}
	owner := tokenOwner(t.Machine)
	for attempt := range tokenAttempts {
		token := bootstrap.Token{
			ID: bootstrap.TokenID(owner.UID, attempt), Secret: secret, Owner: owner,
			Expires: c.Clock.Now().Add(t.Lifetime), Groups: t.Groups,
		}
		got, ours, err := c.offer(ctx, token, t.Lifetime/2)
		if err != nil {
			return "", fmt.Errorf("bootstrap token of machine %s: %w", owner.Key, err)
		}
		if ours {
			return got, nil
		}
	}
	return "", fmt.Errorf("bootstrap token of machine %s: the %d token ids it may have are taken", owner.Key, tokenAttempts)
}

func tokenOwner(machine provider.Ref) bootstrap.Owner {
	return bootstrap.Owner{Key: machine.Namespace + "/" + machine.Name, UID: machine.UID}
}

// offer creates the token, or returns the existing one if it is the machine's. ours is false if the id
// belongs to another owner.
//
// It reads before it writes. An instance may be requested repeatedly by short-lived processes, and only the
// first of them has to write.
func (c *Cluster) offer(ctx context.Context, token bootstrap.Token, least time.Duration) (got string, ours bool, err error) {
	secret, have, ours, err := c.held(ctx, token.ID, token.Owner.UID)
	if apierrors.IsNotFound(err) {
		if err = c.Client.Create(ctx, token.Object()); err == nil {
			return token.String(), true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return "", false, fmt.Errorf("creating secret %s: %w", bootstrap.SecretKey(token.ID), err)
		}
		secret, have, ours, err = c.held(ctx, token.ID, token.Owner.UID) // another process was faster
	}
	if err != nil || !ours {
		return "", false, err
	}
	if have.Expires.Sub(c.Clock.Now()) >= least && have.Groups == token.Groups {
		return have.String(), true, nil
	}
	token.Secret = have.Secret
	prolonged := secret.DeepCopy()
	prolonged.Data = token.Object().Data
	if err := c.Client.Patch(ctx, prolonged, client.MergeFrom(secret)); err != nil {
		return "", false, fmt.Errorf("prolonging secret %s: %w", bootstrap.SecretKey(token.ID), err)
	}
	return have.String(), true, nil
}

// held reads the token with this id and reports whether it is the machine's. A secret that is not a
// well-formed token belongs to no machine. It reads past the cache: caching all secrets of a cluster for this
// would be wasteful.
func (c *Cluster) held(ctx context.Context, id, machineUID string) (*corev1.Secret, bootstrap.Token, bool, error) {
	var secret corev1.Secret
	if err := c.Live.Get(ctx, bootstrap.SecretKey(id), &secret); err != nil {
		return nil, bootstrap.Token{}, false, fmt.Errorf("reading secret %s: %w", bootstrap.SecretKey(id), err)
	}
	token, err := bootstrap.Read(&secret)
	return &secret, token, err == nil && token.Owner.UID == machineUID, nil
}

// DropToken deletes the machine's token, and reports whether it does not exist any more. A token that was
// created under a later id because the first was taken then is left to its expiration.
//
// If joined is given, the token is deleted only if that node may have joined with it: an older node is left
// over from an instance that had the address or the name, and the machine's own instance may still need the
// token. Both times are from the same API server.
func (c *Cluster) DropToken(ctx context.Context, machine provider.Ref, joined *corev1.Node) (gone bool, err error) {
	if c == nil {
		return true, nil
	}
	for attempt := range tokenAttempts {
		secret, _, ours, err := c.held(ctx, bootstrap.TokenID(machine.UID, attempt), machine.UID)
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err == nil && !ours:
			continue
		case err == nil && joined != nil && joined.CreationTimestamp.Before(&secret.CreationTimestamp):
			return false, nil
		case err == nil:
			err = client.IgnoreNotFound(c.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}))
		}
		if err != nil {
			return false, fmt.Errorf("dropping the bootstrap token of machine %s: %w", tokenOwner(machine).Key, err)
		}
		return true, nil
	}
	return true, nil
}

// TokenSecret returns the name of the secret with the bootstrap token of the machine with this UID, if it has
// one and no other machine had taken its first ID.
func TokenSecret(machineUID string) types.NamespacedName {
	return bootstrap.SecretKey(bootstrap.TokenID(machineUID, 0))
}

// TokenOwner returns the machine for which the token with this id was created, empty if unknown, and whether
// the token exists.
func TokenOwner(ctx context.Context, live client.Reader, id string) (owner bootstrap.Owner, exists bool, err error) {
	var secret corev1.Secret
	name := bootstrap.SecretKey(id)
	switch err := live.Get(ctx, name, &secret); {
	case apierrors.IsNotFound(err):
		return owner, false, nil
	case err != nil:
		return owner, false, fmt.Errorf("reading secret %s: %w", name, err)
	}
	return bootstrap.Owner{Key: secret.Annotations[bootstrap.MachineAnnotation], UID: secret.Annotations[bootstrap.MachineUIDAnnotation]}, true, nil
}
