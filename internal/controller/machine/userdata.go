package machine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// token is the machine's bootstrap token, and the boot data that has it.
type token[M client.Object] struct{ passFacts[M] }

// data renders the machine's user data, with the machine's own bootstrap token if the user data requests
// one.
func (t token[M]) data(ctx context.Context) ([]byte, error) {
	out, made, err := t.Nodes.BootData(ctx, t.infra.class.UserData, node.TokenRequest{
		Machine: t.ref(), Lifetime: t.infra.class.TokenLifetime, Groups: t.infra.class.TokenGroups,
	})
	switch {
	case err != nil:
		return nil, err
	case made:
		t.mem.token = tokenMade
	case t.mem.token == tokenUnknown:
		t.mem.token = tokenGone
	}
	return out, nil
}

// The states of a machine's bootstrap token.
type tokenState int

const (
	// tokenUnknown: another process may have created one.
	tokenUnknown tokenState = iota
	tokenMade
	// tokenGone: it does not exist.
	tokenGone
)

// state is the state that the engine gets.
func (t token[M]) state() lifecycle.Token {
	if !t.Nodes.Exists() {
		return lifecycle.Token{}
	}
	states := map[tokenState]lifecycle.TokenState{tokenUnknown: lifecycle.TokenUnknown, tokenMade: lifecycle.TokenMade}
	return lifecycle.Token{State: states[t.mem.token], Lifetime: t.infra.class.TokenLifetime}
}

// drop deletes the token, whatever the user data says now, and reports whether it deleted one that was
// known. A machine is not released while its token may exist and a later attempt may delete it: after the
// release nothing would try again. A machine that is deleted by force is released anyway, and so is one
// whose token may not be accessed. If a machine has no node now, it is unknown whether its own node has
// joined, or one that existed before.
func (t token[M]) drop(ctx context.Context) (did bool, left lifecycle.Token, err error) {
	made := t.mem.token == tokenMade
	joined, released := t.world.Node.Object, false
	if f := t.world.Final; f != nil && f.Step == lifecycle.RemoveFinalizer {
		joined, released = nil, true
	}
	gone, err := t.Nodes.DropToken(ctx, t.ref(), joined)
	if err != nil && released && !t.view.Deletion.Force && !apierrors.IsForbidden(err) {
		return false, t.world.Token, err
	}
	t.mem.token = tokenMade
	if err != nil {
		t.log.Error(err, "cannot delete the bootstrap token; it expires by itself", "released", released)
		left.Again = max(t.policy.Delays.Transient, lifecycle.FirstDelay)
	} else if gone {
		t.mem.token = tokenGone
	}
	return made && gone, left, nil
}
